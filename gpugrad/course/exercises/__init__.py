"""The exercises: one module for each lesson, with LESSON in it. Answers stand apart, in gpugrad.course.solutions."""
