"""The NumPy twin of the network, in its plainest form: float64, one formula a line."""

import numpy as np


def shares(phase, count, beta, kernel):
    p = np.asarray(phase, np.float64)[:, None]
    if kernel == "catmull_rom":
        result = np.zeros((len(p), count))
        s = (p[:, 0] % 1) * count
        i, u = np.floor(s).astype(int), s - np.floor(s)
        cubic = [-(u**3) / 2 + u**2 - u / 2, 1.5 * u**3 - 2.5 * u**2 + 1, -1.5 * u**3 + 2 * u**2 + u / 2, u**3 / 2 - u**2 / 2]
        for j, weight in enumerate(cubic):
            result[np.arange(len(p)), (i + j - 1) % count] += weight
        return result
    if kernel == "rbf":
        result = np.exp(-beta * (p - np.linspace(0, 1, count)) ** 2)
    else:
        result = np.exp(beta / (2 * np.pi**2) * (np.cos(2 * np.pi * (p - np.arange(count) / count)) - 1))
    return result / result.sum(1, keepdims=True)


def layer(x, share, weights, bias):
    return np.einsum("bk,bi,kio->bo", share, x.astype(np.float64), weights.astype(np.float64), optimize=True) + share @ bias


def forward(model, x, phase):
    """What `model(x, phase)` is, from its parameters."""
    share = shares(phase, model.n_kernels, model.beta, model.kernel)
    h = np.asarray(x)
    for fc in (model.fc1, model.fc2, model.fc3):
        h = layer(h, share, fc.weights, fc.bias)
        if fc is not model.fc3:
            h = np.maximum(h, 0) if model.activation == "relu" else np.where(h > 0, h, np.expm1(np.minimum(h, 0)))
    return h
