"""The words of the phrases, Chinese and English side by side. A blank parts the tokens of either.

Where both sides have as many words they mean each other in order; where not, all of one mean all of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────

PROFESSIONS = {
    "老师": "teacher", "医生": "doctor", "护士": "nurse", "司机": "driver", "画家": "painter", "歌手": "singer",
    "记者": "journalist", "作家": "writer", "律师": "lawyer", "工程师": "engineer",
}  # fmt: skip
OTHERS = {"学生": "student", "朋友": "friend", "邻居": "neighbour", "同学": "classmate", "同事": "colleague"}
PEOPLE = PROFESSIONS | OTHERS

OWNERS = {"我": "my", "你": "your", "他": "his", "她": "her", "我们": "our", "他们": "their"}
SUBJECTS = {"我": "I", "你": "you", "他": "he", "她": "she", "我们": "we", "他们": "they"}
OBJECTS = {"我": "me", "他": "him", "她": "her", "我们": "us", "他们": "them"}
FIRST_PERSON = ("我", "我们")
PLURAL = ("我", "你", "我们", "他们")  # whose English verbs have no s
NAMES = {"小明": "Xiaoming", "小红": "Xiaohong", "安娜": "Anna", "保罗": "Paul", "玛丽": "Mary"}
FAMILIES = {"王": "Wang", "李": "Li", "张": "Zhang", "陈": "Chen"}
TITLES = {"先生": "Mr", "太太": "Mrs"}
CHARACTERS = {
    "年轻 的": "young", "聪明 的": "clever", "友好 的": "friendly", "善良 的": "kind", "著名 的": "famous",
}  # fmt: skip

CITIES = {"北京": "Beijing", "上海": "Shanghai", "巴黎": "Paris", "伦敦": "London", "柏林": "Berlin"}
TONGUES = {"汉语": "Chinese", "英语": "English", "法语": "French", "德语": "German"}
LIKED = {"音乐": "music", "足球": "football", "茶": "tea", "咖啡": "coffee", "电影": "films"}
EMPLOYERS = {"医院": "hospital", "银行": "bank", "学校": "school", "机场": "airport", "餐厅": "restaurant"}

# ── when and where ──────────────────────────────────────────────────────────────────────────────────────────

TIMES = {
    "past": {
        "昨天": "yesterday", "上周": "last week", "上个月": "last month", "今天 早上": "this morning",
        "昨天 晚上": "yesterday evening",
    },
    "habit": {
        "每天": "every day", "周末": "at the weekend", "每天 早上": "every morning", "每天 晚上": "every evening",
    },
    "future": {
        "明天": "tomorrow", "下周": "next week", "下个月": "next month", "今天 晚上": "this evening",
        "明天 早上": "tomorrow morning",
    },
}  # fmt: skip

# the word before the place, and after it in Chinese
PLACES = {
    "家": "at home", "图书馆": "at the library", "公园 里": "in the park", "教室 里": "in the classroom",
    "车站": "at the station", "餐厅": "at the restaurant", "办公室 里": "in the office", "厨房 里": "in the kitchen",
    "学校": "at school", "商店 里": "in the shop", "市场": "at the market", "花园 里": "in the garden",
    "电影院": "at the cinema", "医院": "at the hospital", "车库 里": "in the garage",
} | {city: f"in {name}" for city, name in CITIES.items()}  # fmt: skip

# ── what is done ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Thing:
    """A thing with its measure word. containers: what measures it in English too, as in a cup, two cups of tea."""

    chinese: str
    english: str
    plural: str
    measure: str
    containers: tuple[str, ...] = ()


def _things(table: str) -> dict[str, Thing]:
    rows = (line.split() for line in table.strip().splitlines())
    things = (Thing(*row[:4], containers=tuple(row[4:])) for row in rows)
    return {thing.english: thing for thing in things}


THINGS = _things("""
书 book books 本
小说 novel novels 本
杂志 magazine magazines 本
报纸 newspaper newspapers 份
报告 report reports 份
信 letter letters 封
故事 story stories 个
诗 poem poems 首
电影 film films 部
自行车 bicycle bicycles 辆
椅子 chair chairs 把
电脑 computer computers 台
雨伞 umbrella umbrellas 把
帽子 hat hats 顶
猫 cat cats 只
马 horse horses 匹
房子 house houses 座
苹果 apple apples 个
茶 tea tea 杯 cup cups
咖啡 coffee coffee 杯 cup cups
水 water water 杯 glass glasses
面包 bread bread 片 slice slices
面条 noodles noodles 碗 bowl bowls
米饭 rice rice 碗 bowl bowls
蛋糕 cake cake 块 piece pieces
""")

NUMBERS = {"一": "a", "两": "two", "三": "three", "四": "four"}
POINTING = {"这": "this", "那": "that"}

TOLD = {"有趣 的": "interesting", "重要 的": "important", "奇怪 的": "strange"}
BOUGHT = {"新": "new", "旧": "old", "便宜 的": "cheap", "漂亮 的": "beautiful"}
DRAWN = {"大": "big", "小": "small", "漂亮 的": "beautiful"}
EATEN = {"好吃 的": "delicious"}
DRUNK = {"热": "hot"}


@dataclass(frozen=True)
class Verb:
    """One verb with what it is done to, and where. No things: it is done to people."""

    chinese: str
    base: str
    third: str
    past: str
    places: tuple[str, ...]
    things: tuple[str, ...] = ()
    adjectives: tuple[tuple[str, str], ...] = ()


def _verb(
    chinese: str, english: str, places: str, things: str = "", adjectives: dict[str, str] | None = None
) -> Verb:
    """english: base, third person and past, parted by slashes; places by their Chinese word."""
    base, third, past = english.split("/")
    where = tuple(place for place in PLACES if place.split()[0] in places.split())
    return Verb(chinese, base, third, past, where, tuple(things.split()), tuple((adjectives or {}).items()))


INDOORS = "家 图书馆 公园 教室 办公室 花园"
TOWNS = " ".join(CITIES)
VERBS = (
    _verb("看", "read/reads/read", INDOORS + " 车站", "book novel magazine newspaper report letter", TOLD),
    _verb("看", "watch/watches/watched", "家 电影院 学校 " + TOWNS, "film", TOLD),
    _verb("写", "write/writes/wrote", INDOORS, "letter story poem report novel", TOLD),
    _verb("买", "buy/buys/bought", "商店 市场 " + TOWNS, "book bicycle chair computer umbrella hat", BOUGHT),
    _verb("修", "repair/repairs/repaired", "家 车库 花园", "bicycle chair computer umbrella", BOUGHT),
    _verb("画", "draw/draws/drew", INDOORS, "cat horse house", DRAWN),
    _verb("喝", "drink/drinks/drank", "家 餐厅 公园 办公室 厨房 花园 车站", "tea coffee water", DRUNK),
    _verb("吃", "eat/eats/ate", "家 餐厅 公园 厨房 学校 花园", "apple bread noodles rice cake", EATEN),
    _verb("见", "meet/meets/met", "公园 学校 图书馆 车站 餐厅 办公室 " + TOWNS),
    _verb("帮助", "help/helps/helped", "学校 图书馆 医院 办公室 厨房 车站"),
    _verb("看望", "visit/visits/visited", "医院 学校 " + TOWNS),
    _verb("采访", "interview/interviews/interviewed", "学校 办公室 餐厅 公园 " + TOWNS),
    _verb("照顾", "look after/looks after/looked after", "家 医院"),
)  # fmt: skip

# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────

OF_THE_GRAMMAR = (
    "在 和 一起 了 的 会 住 工作 喜欢 说 位 个 the an of who will with at in lives works likes speaks"
)
TABLES = (
    PEOPLE, OWNERS, SUBJECTS, OBJECTS, NAMES, FAMILIES, TITLES, CHARACTERS, CITIES, TONGUES, LIKED, EMPLOYERS,
    *TIMES.values(), PLACES, NUMBERS, POINTING, TOLD, BOUGHT, DRAWN, EATEN, DRUNK,
)  # fmt: skip


def vocabulary() -> list[str]:
    """Every word of either language once, in the order of this module."""
    texts = [OF_THE_GRAMMAR]
    texts += [text for table in TABLES for row in table.items() for text in row]
    for thing in THINGS.values():
        texts += [thing.chinese, thing.english, thing.plural, thing.measure, *thing.containers]
    texts += [text for verb in VERBS for text in (verb.chinese, verb.base, verb.third, verb.past)]
    return list(dict.fromkeys(word for text in texts for word in text.split()))
