"""Adam as Algorithm 1 of Kingma and Ba 2015, with the decoupled decay of Loshchilov and Hutter 2019, Algorithm 2."""

import numpy as np


class Adam:
    def __init__(self, shape: tuple[int, ...], beta1: float, beta2: float, epsilon: float, decay: float = 0.0) -> None:
        self.m, self.v, self.t = np.zeros(shape), np.zeros(shape), 0
        self.beta1, self.beta2, self.epsilon, self.decay = beta1, beta2, epsilon, decay

    def step(self, weights: np.ndarray, gradient: np.ndarray, rate: float) -> np.ndarray:
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * gradient
        self.v = self.beta2 * self.v + (1 - self.beta2) * gradient**2
        m_hat = self.m / (1 - self.beta1**self.t)
        v_hat = self.v / (1 - self.beta2**self.t)
        return weights - rate * m_hat / (np.sqrt(v_hat) + self.epsilon) - rate * self.decay * weights
