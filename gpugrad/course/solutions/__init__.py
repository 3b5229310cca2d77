"""The answers: one module for each lesson, with SOLUTIONS in it, answers by exercise. No lesson shows them."""
