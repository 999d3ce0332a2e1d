"""The PyTorch modules against modules written from the article's formula."""

import codecs
import copy
import locale
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch, which the package does not require")

import reference_network as reference  # noqa: E402

import pfnnc  # noqa: E402
from pfnnc.torch import PFNNLayer, SimplifiedPFNN  # noqa: E402

nn = torch.nn


@pytest.fixture(autouse=True)
def _the_same_numbers():
    torch.manual_seed(0)


class ArticleLayer(nn.Module):
    """The article's layer: one blended matrix a sample."""

    def __init__(self, in_dim, out_dim, n_kernels=8, beta=8.0):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(n_kernels, in_dim, out_dim) * 0.1)
        self.bias = nn.Parameter(torch.zeros(n_kernels, out_dim))
        self.register_buffer("centers", torch.linspace(0, 1, n_kernels))
        self.beta = beta

    def forward(self, x, phase):
        share = torch.exp(-self.beta * (phase.unsqueeze(1) - self.centers) ** 2)
        share = share / share.sum(1, keepdim=True)
        weights = torch.einsum("bk,kij->bij", share, self.weights)
        return torch.bmm(x.unsqueeze(1), weights).squeeze(1) + share @ self.bias


class ArticleNetwork(nn.Module):
    def __init__(self, in_dim, out_dim, hidden):
        super().__init__()
        self.fc1, self.fc2 = ArticleLayer(in_dim, hidden), ArticleLayer(hidden, hidden)
        self.fc3 = ArticleLayer(hidden, out_dim)

    def forward(self, x, phase):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x, phase)), phase)), phase)


def train(network, steps=50, rows=40):
    """The article's loop: loss at each step."""
    generator = torch.Generator().manual_seed(5)
    x, y = torch.randn(rows, 24, generator=generator), torch.randn(rows, 9, generator=generator)
    phase = torch.rand(rows, generator=generator)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    smooth, losses = nn.SmoothL1Loss(), []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = smooth(network(x, phase), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return np.array(losses)


def pair(seed=0):
    torch.manual_seed(seed)
    article = ArticleNetwork(24, 9, 16)
    torch.manual_seed(seed)
    return article, SimplifiedPFNN(24, 9, 16)


def test_the_start_and_the_state_dict_are_the_articles():
    article, ours = pair()
    assert list(ours.state_dict()) == list(article.state_dict())
    for name, value in article.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value), name
    ours.load_state_dict(article.state_dict())
    article.load_state_dict(ours.state_dict())


def test_the_articles_loop_gives_the_same_loss_curve():
    article, ours = pair()
    np.testing.assert_allclose(train(ours), train(article), rtol=1e-4)


def test_forward_and_gradients_of_the_network():
    article, ours = pair(3)
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(30, 24, generator=generator), torch.rand(30, generator=generator)]
    results = []
    for network in (article, ours):
        x, phase = (value.clone().requires_grad_() for value in inputs)
        y = network(x, phase)
        y.square().sum().backward()
        results.append([y, x.grad, phase.grad, *(p.grad for p in network.parameters())])
    for want, got in zip(*results, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5 * want.abs().max().item())


@pytest.mark.parametrize("kernel", ["rbf", "cyclic", "catmull_rom"])
def test_gradcheck(kernel):
    layer = PFNNLayer(5, 3, 4, 6.0, kernel=kernel, seed=1, dtype=torch.float64)
    x = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    phase = torch.tensor([0.03, 0.2, 0.41, 0.6, 0.77, 0.96], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *inputs: torch.func.functional_call(layer, dict(weights=inputs[2], bias=inputs[3]), inputs[:2]),
        (x, phase, layer.weights, layer.bias),
    )


def test_against_the_packages_network():
    module = SimplifiedPFNN(24, 9, 16, 5, kernel="cyclic", activation="elu", seed=2)
    model = pfnnc.SimplifiedPFNN(24, 9, 16, 5, kernel="cyclic", activation="elu").load_state_dict(module.state_dict())
    x, phase = np.random.default_rng(0).standard_normal((7, 24), np.float32), np.linspace(0, 1, 7, dtype=np.float32)
    got = module(torch.from_numpy(x), torch.from_numpy(phase)).detach().numpy()
    np.testing.assert_allclose(got, model(x, phase), atol=2e-6)
    np.testing.assert_allclose(got, reference.forward(model, x, phase), atol=2e-6)


def test_frozen_layers_no_grad_strides_and_empty_batches():
    module = SimplifiedPFNN(24, 9, 16, seed=0)
    module.fc1.requires_grad_(False)
    wide = torch.randn(20, 48)
    x, phase = wide[::2, ::2], torch.rand(20)[::2]
    y = module(x, phase)
    y.sum().backward()
    assert module.fc1.weights.grad is None and module.fc2.weights.grad.abs().sum() > 0
    with torch.no_grad():
        again = module(x.contiguous(), phase.contiguous())
    assert torch.equal(again, y) and not again.requires_grad
    y = module(x, phase).t()  # a gradient that is not contiguous
    (y * torch.randn(9, 10)).sum().backward()
    assert module(torch.zeros(0, 24), torch.zeros(0)).shape == (0, 9)
    module(torch.zeros(0, 24), torch.zeros(0)).sum().backward()
    other = copy.deepcopy(module)
    other.fc3.bias.data += 1
    assert not torch.equal(other(x, phase), module(x, phase))
    double = SimplifiedPFNN(24, 9, 16, seed=0, dtype=torch.float64)
    assert double(x.double(), phase).dtype == torch.float64
    assert module.double()(x.double(), phase).dtype == torch.float64


def test_checkpoints_of_the_article(tmp_path):
    article, ours = pair(4)
    torch.save(article.state_dict(), tmp_path / "article.pt")
    state = torch.load(tmp_path / "article.pt", weights_only=True)
    model = pfnnc.SimplifiedPFNN(24, 9, 16).load_state_dict(state)
    x, phase = torch.randn(5, 24), torch.rand(5)
    want = article(x, phase).detach().numpy()
    np.testing.assert_allclose(model(x.numpy(), phase.numpy()), want, atol=1e-5 * np.abs(want).max())
    without = {name: value for name, value in state.items() if "centers" not in name}
    ours.load_state_dict(without)
    wrong = {**state, "fc2.centers": state["fc2.centers"] * 0.9}
    with pytest.raises(RuntimeError, match="fc2.centers are not the centres"):
        ours.load_state_dict(wrong)
    with pytest.raises(ValueError, match="fc2.centers"):
        model.load_state_dict(wrong)
    half = {name: value.to(torch.bfloat16) for name, value in without.items()}
    pfnnc.SimplifiedPFNN(24, 9, 16).load_state_dict(half)


WRONG = [
    (lambda x, p: (x[:, :3], p), ValueError, r"x must have shape \(any, 24\), got \(6, 3\)"),
    (lambda x, p: (x[0], p), ValueError, "x must have shape"),
    (lambda x, p: (x, p[:4]), ValueError, r"phase must have shape \(6,\), got \(4,\)"),
    (lambda x, p: (x, p[:, None]), ValueError, "phase must have shape"),
    (lambda x, p: (x, p + 1), ValueError, r"phase\[0\]=.* is not in \[0, 1\]"),
    (lambda x, p: (x, p * torch.nan), ValueError, r"phase\[0\]=nan is not in \[0, 1\]"),
    (lambda x, p: (x.double(), p), TypeError, "x must be of torch.float32"),
    (lambda x, p: (x.numpy(), p), TypeError, "x must be a tensor"),
]


@pytest.mark.parametrize("change, error, message", WRONG)
def test_wrong_calls(change, error, message):
    module = SimplifiedPFNN(24, 9, 16, seed=0)
    with pytest.raises(error, match=message):
        module(*change(torch.zeros(6, 24), torch.full((6,), 0.5)))


@pytest.mark.parametrize(
    "options, error, message",
    [
        (dict(hidden=0), ValueError, "hidden"),
        (dict(n_kernels=3, kernel="catmull_rom"), ValueError, "n_kernels"),
        (dict(kernel="gauss"), ValueError, "kernel"),
        (dict(activation="tanh"), ValueError, "activation"),
        (dict(beta=-1), ValueError, "beta"),
        (dict(dtype=torch.float16), ValueError, "dtype"),
        (dict(dtype="x"), TypeError, "dtype"),
        (dict(seed="x"), TypeError, "seed"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        SimplifiedPFNN(**{"in_dim": 4, "out_dim": 3, "hidden": 2, **options})


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # of PyTorch's own making
@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_under_torch_compile(backend):
    """No graph break, the same bits, whatever needs a gradient and whatever the batch."""
    if backend == "inductor" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("needs a C++ compiler")
    if codecs.lookup(locale.getencoding()).name == "ascii":
        pytest.skip("PyTorch reads its own templates in the locale's encoding")
    torch._dynamo.reset()
    module = SimplifiedPFNN(24, 9, 16, seed=0)
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    x, phase = torch.randn(5, 24), torch.rand(5)

    def gradients(network, rows, inputs):
        module.zero_grad()
        a, b = (value[:rows].clone().requires_grad_(inputs) for value in (x, phase))
        y = network(a, b)
        y.square().sum().backward()
        return [y, a.grad, b.grad, *(p.grad.clone() for p in module.parameters())]

    for rows, inputs in ((5, False), (5, True), (3, False)):
        for want, got in zip(gradients(module, rows, inputs), gradients(compiled, rows, inputs), strict=True):
            assert want is got or torch.equal(want, got)
    with torch.no_grad():
        assert torch.equal(compiled(x, phase), module(x, phase))
    for change, error, message in WRONG[:2] + WRONG[4:5]:
        with pytest.raises(error, match=message):
            torch.compile(module, backend=backend)(*change(torch.zeros(6, 24), torch.full((6,), 0.5)))


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # of PyTorch's own making
def test_derivatives_that_are_not_there_say_so():
    module = SimplifiedPFNN(24, 9, 16, seed=0)
    x, phase = torch.randn(5, 24, requires_grad=True), torch.rand(5)
    (slope,) = torch.autograd.grad(module(x, phase).sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        slope.square().sum().backward()
    y = module(x, phase).sum()
    y.backward(retain_graph=True)
    y.backward()  # twice the same is no second derivative
    for frozen in (False, True):
        module.requires_grad_(not frozen)
        with pytest.raises(NotImplementedError, match="no forward-mode derivatives"):
            torch.func.jvp(lambda x: module(x, phase), (x.detach(),), (x.detach(),))


def test_function_transforms():
    module = SimplifiedPFNN(24, 9, 16, seed=0, dtype=torch.float64)
    x, phase = torch.randn(4, 5, 24, dtype=torch.float64), torch.rand(4, 5, dtype=torch.float64)
    whole = torch.func.vmap(module)(x, phase)
    assert torch.equal(whole, torch.stack([module(a, b) for a, b in zip(x, phase, strict=True)]))
    slope = torch.func.grad(lambda a: module(a, phase[0]).sum())(x[0])
    a = x[0].clone().requires_grad_()
    module(a, phase[0]).sum().backward()
    assert torch.equal(slope, a.grad)
    jacobian = torch.func.jacrev(lambda a: module(a, phase[0]))(x[0])
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(lambda a: module(a, phase[0]), x[0]))
    state = {name: value * 0 for name, value in module.state_dict().items()}
    assert not torch.func.functional_call(module, state, (x[0], phase[0])).any()
    exported = torch.export.export(module, (x[0], phase[0])).module()
    assert torch.equal(exported(x[0], phase[0]), module(x[0], phase[0]))


def test_other_types_and_devices():
    module = SimplifiedPFNN(24, 9, 16, seed=0)
    x, phase = torch.randn(6, 24), torch.full((6,), 0.5)
    y = module(x, phase)
    for same in (phase.half(), phase.bfloat16(), phase.double()):  # a half is exact in all
        assert torch.equal(module(x, same), y) and module(x, same).dtype == torch.float32
    grad = phase.half().requires_grad_()
    module(x, grad).sum().backward()
    assert grad.grad.dtype == torch.float16
    with torch.autocast("cpu", dtype=torch.bfloat16):  # a layer before may give less; this one computes as ever
        assert torch.equal(module(x.bfloat16(), phase), module(x.bfloat16().float(), phase))

    meta = copy.deepcopy(module).to("meta")
    assert meta(x.to("meta"), phase.to("meta")).shape == (6, 9)
    with torch.device("meta"):
        empty = SimplifiedPFNN(24, 9, 16)
    loaded = empty.to_empty(device="cpu")
    loaded.load_state_dict({name: value for name, value in module.state_dict().items() if "centers" not in name})
    assert torch.equal(loaded(x, phase), y) and torch.equal(loaded.fc1.centers, module.fc1.centers)

    for network, arguments, message in [
        (copy.deepcopy(module).half(), (x.half(), phase.half()), "weights must be torch.float32 or torch.float64.*float16"),
        (copy.deepcopy(module).bfloat16(), (x.bfloat16(), phase), "weights must be torch.float32 or torch.float64.*bfloat16"),
        (module, (x.half(), phase), "x must be of torch.float32 as the weights, got torch.float16"),
        (module, (x.int(), phase), "x must be of torch.float32 as the weights, got torch.int32"),
        (module, (x, phase.cfloat()), "phase must be of real numbers, got torch.complex64"),
        (module, (x, phase.bool()), "phase must be of real numbers, got torch.bool"),
        (module, (x, phase.to("meta")), "phase must be a dense tensor on cpu.*meta"),
        (module, (x.to_sparse(), phase), "x must be a dense tensor on cpu.*sparse"),
        (meta, (x, phase), "x must be a dense tensor on meta"),
    ]:
        with pytest.raises(TypeError, match=message):
            network(*arguments)


def test_modules_are_kept_and_copied(tmp_path):
    module = SimplifiedPFNN(24, 9, 16, kernel="cyclic", seed=0)
    x, phase = torch.randn(6, 24), torch.rand(6)
    torch.save(module.state_dict(), tmp_path / "state.pt")
    torch.save(module, tmp_path / "module.pt")
    other = SimplifiedPFNN(24, 9, 16, kernel="cyclic", seed=1)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    whole = torch.load(tmp_path / "module.pt", weights_only=False)
    for same in (other, whole, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(same(x, phase), module(x, phase))
    with pytest.raises(RuntimeError, match="fc1.centers"):  # a phase function that has none
        SimplifiedPFNN(24, 9, 16, kernel="catmull_rom").load_state_dict(module.state_dict())


def test_the_package_does_not_import_torch():
    code = "import sys, pfnnc; assert 'torch' not in sys.modules and 'pfnnc.torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
