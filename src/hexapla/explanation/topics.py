"""The topics, in the order of the paper, without what computes them."""

import difflib
from typing import Literal, assert_never, cast, get_args

from hexapla.errors import ConfigError
from hexapla.explanation.parts import Bilingual, Explanation

Topic = Literal[
    "scaling", "masking", "positions", "heads", "gradient", "residual", "recurrence", "normalisation", "feedforward", "complexity",
    "schedule", "smoothing", "beam",
]  # fmt: skip
TOPICS: tuple[Topic, ...] = get_args(Topic)

TITLES: dict[Topic, Bilingual] = {
    "scaling": Bilingual("Why dot products are divided by √d_k", "点积为什么要除以 √d_k"),
    "masking": Bilingual("How a causal mask hides the future", "因果掩码如何遮住未来"),
    "positions": Bilingual("How sines and cosines tell positions apart", "正弦和余弦如何区分位置"),
    "heads": Bilingual("Many heads for the price of one", "多个头，一个头的代价"),
    "gradient": Bilingual("The gradient of attention, by hand", "手算注意力的梯度"),
    "residual": Bilingual("Residual connections keep gradients alive", "残差连接让梯度不消失"),
    "recurrence": Bilingual("What recurrence forgets and attention reaches", "循环网络忘记的，注意力够得着"),
    "normalisation": Bilingual("Norm after or before the sublayer", "归一化放在子层之后还是之前"),
    "feedforward": Bilingual("The feed-forward network is two 1×1 convolutions", "前馈网络就是两个 1×1 卷积"),
    "complexity": Bilingual("What each kind of layer costs as texts grow", "文本变长时各种层的代价"),
    "schedule": Bilingual("A learning rate that warms up, then decays", "先预热、后衰减的学习率"),
    "smoothing": Bilingual("The loss that label smoothing cannot go below", "标签平滑之下损失的下限"),
    "beam": Bilingual("A tree in which greedy search loses", "贪心搜索会输的一棵树"),
}


def topic_of(name: str) -> Topic:
    """Raises ConfigError: there is no such topic."""
    if name in TOPICS:
        return cast(Topic, name)
    nearest = difflib.get_close_matches(name.lower(), TOPICS, n=1, cutoff=0.5)
    meant = f"did you mean {nearest[0]}? " if nearest else ""
    raise ConfigError(f"explain {name}: no such topic; {meant}there are {', '.join(TOPICS)}")


def compute(topic: Topic) -> Explanation:
    """What the topic claims, computed now. Random numbers are torch's global generator's; seed it for the same again."""
    match topic:
        case "scaling":
            from hexapla.explanation.scaling import scaling

            return scaling()
        case "masking":
            from hexapla.explanation.masking import masking

            return masking()
        case "positions":
            from hexapla.explanation.positions import positions

            return positions()
        case "heads":
            from hexapla.explanation.heads import heads

            return heads()
        case "gradient":
            from hexapla.explanation.gradient import gradient

            return gradient()
        case "residual":
            from hexapla.explanation.residual import residual

            return residual()
        case "recurrence":
            from hexapla.explanation.recurrence import recurrence

            return recurrence()
        case "normalisation":
            from hexapla.explanation.normalisation import normalisation

            return normalisation()
        case "feedforward":
            from hexapla.explanation.feedforward import feedforward

            return feedforward()
        case "complexity":
            from hexapla.explanation.complexity import complexity

            return complexity()
        case "schedule":
            from hexapla.explanation.schedule import schedule

            return schedule()
        case "smoothing":
            from hexapla.explanation.smoothing import smoothing

            return smoothing()
        case "beam":
            from hexapla.explanation.beam import beam

            return beam()
        case _:
            assert_never(topic)
