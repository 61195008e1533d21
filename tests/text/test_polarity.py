"""What sentences deny, in the languages of the search."""

from __future__ import annotations

from hermes_jobs.text.polarity import denied
from tests.tables import each_row

OPPOSITES = (
    ("The user prefers tea.", "The user no longer prefers tea."),
    ("The user prefers tea.", "The user doesn't prefer tea."),
    ("Server A is production", "Server A is not production"),
    ("The user drinks coffee", "The user stopped drinking coffee"),
    ("Deploy on Fridays", "Never deploy on Fridays"),
    ("Deploy on Fridays", "Don’t deploy on Fridays"),
    ("Anna mag Tee", "Anna mag keinen Tee"),
    ("Anna wohnt in Bern", "Anna wohnt nicht mehr in Bern"),
    ("Anna aime le thé", "Anna n'aime pas le thé"),
    ("Anna aime le thé", "Anna n'aime plus le thé"),
    ("Ana bebe té", "Ana ya no bebe té"),
    ("Ana bebe chá", "Ana não bebe chá"),
    ("Anna beve tè", "Anna non beve più tè"),
    ("Anna drinkt thee", "Anna drinkt geen thee"),
    ("Anna dricker te", "Anna dricker inte te"),
    ("Anna drikker te", "Anna drikker ikke te"),
    ("Anna pije herbatę", "Anna nigdy nie pije herbaty"),
    ("Анна пьёт чай", "Анна больше не пьёт чай"),
    ("Анна п'є чай", "Анна не п'є чай"),
    ("Η Άννα πίνει τσάι", "Η Άννα δεν πίνει τσάι"),
    ("Anna çay içer", "Anna çay içen biri değil"),
    ("آنا تشرب الشاي", "آنا لا تشرب الشاي"),
    ("אנה שותה תה", "אנה לא שותה תה"),
    ("अन्ना चाय पीती है", "अन्ना चाय नहीं पीती है"),
    ("Anna minum teh", "Anna tidak minum teh"),
    ("Anna uống trà", "Anna không uống trà"),
    ("安娜喝茶", "安娜不喝茶"),
    ("アンナはお茶を飲む", "アンナはお茶を飲まない"),
    ("안나는 차를 마신다", "안나는 차를 마시지 않는다"),
    ("แอนนาดื่มชา", "แอนนาไม่ดื่มชา"),
)
ALIKE = (
    ("The user prefers tea", "The user prefers tea in the morning"),
    ("Never deploy on Fridays", "Never deploy on Fridays or Saturdays"),
    ("The user doesn't eat meat", "The user does not eat meat at home"),
    ("Anna mag keinen Tee", "Anna mag keinen Tee am Abend"),
)


@each_row(OPPOSITES)
def test_a_negation_more_changes_what_a_sentence_denies(one: str, other: str) -> None:
    assert denied(one) != denied(other)


@each_row(ALIKE)
def test_a_longer_sentence_may_deny_the_same(one: str, other: str) -> None:
    assert denied(one) == denied(other)
