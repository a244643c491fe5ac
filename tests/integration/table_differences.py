"""What the emulators do otherwise than DynamoDB: the one list that the contract suite goes by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """On `backend`, `test` (a function of the suite) fails because of `what` it does; where `cases` are given, in those
    alone. A failure that is a race, or that drawn examples meet now and then, is `sometimes`; all others are strict."""

    backend: str
    test: str
    what: str
    cases: tuple[str, ...] = ()
    sometimes: bool = False


DIFFERENCES = (
    # -- moto: values and keys
    Difference("moto", "test_an_update_makes_an_item_that_does_not_exist", "fails on an update without changes"),
    Difference("moto", "test_an_item_of_400_kb_is_stored", "refuses the last bytes of the 400 KB"),
    Difference(
        "moto", "test_an_update_that_makes_an_item_too_large_is_refused", "refuses the last bytes of the 400 KB"
    ),
    Difference(
        "moto",
        "test_a_wrong_primary_key_is_refused",
        "checks the keys of some operations only",
        (
            "number for a string",
            "null",
            "empty hash key",
            "empty range key",
            "long hash key",
            "long range key",
        ),
    ),
    Difference("moto", "test_a_wrong_index_key_is_refused", "does not check index keys in every write"),
    Difference("moto", "test_an_addition_that_makes_an_index_key_wrong_is_refused", "does not check index keys"),
    # -- moto: updates that change little, numbers
    Difference(
        "moto",
        "test_an_update_that_changes_little_leaves_what_it_says_and_answers_it",
        "fails on an update without changes; makes an item of which things are only removed; answers the key as the old"
        " item of one that it makes, and nothing for what stays the same",
        (
            *("nothing, without an item", "nothing"),
            *("removal, without an item", "two removals, without an item"),
            *("removal and value, without an item", "removal and addition, without an item"),
            *("addition of zero, without an item", "addition of zero"),
            *("the same value", "the same number", "the same set"),
            *("addition of elements that are there", "addition of a number that is there"),
        ),
    ),
    Difference(
        "moto",
        "test_an_update_in_a_transaction_changes_as_much_as_one_alone",
        "fails on an update without changes; makes an item of which things are only removed",
        ("nothing, without an item", "nothing", "removal, without an item", "two removals, without an item"),
    ),
    Difference(
        "moto",
        "test_a_condition_decides_over_an_update_that_changes_little",
        "fails on an update without changes; makes an item of which things are only removed",
        ("nothing, without an item", "nothing", "removal, without an item", "two removals, without an item"),
    ),
    Difference(
        "moto",
        "test_the_stream_has_an_update_that_changes_something",
        "writes records of changes that change nothing, and two of an update that makes an item",
        (
            *("nothing, without an item", "nothing"),
            *("removal, without an item", "two removals, without an item", "removal of what is absent"),
            *("removal and value, without an item", "removal and addition, without an item"),
            *("addition of zero, without an item", "addition of zero"),
            *("the same value", "the same number", "the same set"),
            *("addition of elements that are there", "addition of a number that is there"),
        ),
    ),
    Difference(
        "moto",
        "test_a_transaction_that_only_removes_from_nothing_makes_nothing",
        "makes an item of which things are only removed",
    ),
    Difference(
        "moto",
        "test_a_put_of_the_same_item_answers_it_and_is_not_in_the_stream",
        "writes records of changes that change nothing",
    ),
    Difference(
        "moto", "test_a_number_written_otherwise_is_the_same_number", "adds fractions with 28 digits", ("38 digits",)
    ),
    # -- moto: conditions
    Difference(
        "moto",
        "test_a_filter_keeps_what_the_condition_is_true_of",
        "breaks on operands of different types, prefixes of binaries, sizes of what is missing",
        ("equality", "order", "range", "choice", "binary prefix", "size", "combination"),
        sometimes=True,
    ),
    Difference(
        "moto",
        "test_a_write_happens_when_its_condition_is_true",
        "breaks on operands of different types and sizes of what is missing; a missing attribute differs from nothing",
        ("equality", "order", "range", "choice", "size", "combination"),
        sometimes=True,
    ),
    # -- moto: queries and scans
    Difference(
        "moto",
        "test_an_interval_that_makes_no_sense_is_refused",
        "does not check the operands of key conditions",
        ("reversed", "wrong type", "mixed types", "long low", "long point"),
    ),
    Difference(
        "moto",
        "test_a_query_that_does_not_fit_the_table_is_refused",
        "does not check the hash key's type nor the limit; takes an unknown index for a missing table",
        ("hash key of another type", "unknown index", "limit of zero"),
    ),
    Difference(
        "moto",
        "test_a_page_that_the_limit_ends_has_a_last_key_although_nothing_follows",
        "looks ahead, and gives no last key when nothing follows",
    ),
    Difference("moto", "test_a_start_key_that_does_not_fit_is_refused", "accepts any start key, or breaks on it"),
    Difference("moto", "test_a_filter_on_a_key_is_refused", "accepts filters on keys"),
    Difference(
        "moto",
        "test_a_scan_that_does_not_fit_the_table_is_refused",
        "accepts any start key, and a limit of zero",
        ("start key without a range key", "limit of zero"),
    ),
    Difference("moto", "test_a_batch_of_reads_that_makes_no_sense_is_refused", "accepts an empty batch", ("none",)),
    # -- moto: transactions, batches, stream
    Difference("moto", "test_a_transaction_over_4_mb_is_refused", "counts otherwise than the 4 MB of a transaction"),
    Difference(
        "moto",
        "test_a_transaction_with_an_action_that_is_refused_changes_nothing",
        "does not check index keys in transactions",
        ("index key of a wrong type", "null index key", "empty index key"),
    ),
    Difference("moto", "test_a_transaction_with_a_token_is_carried_out_once", "ignores tokens"),
    Difference("moto", "test_a_token_is_for_one_content", "ignores tokens"),
    Difference("moto", "test_a_token_has_1_to_36_characters", "ignores tokens"),
    Difference("moto", "test_a_transaction_without_actions_is_refused", "breaks on an empty transaction"),
    Difference("moto", "test_a_transaction_reads_100_items", "reads at most 25 items in a transaction"),
    Difference(
        "moto",
        "test_a_transaction_of_reads_that_makes_no_sense_is_refused",
        "reads one key twice; breaks on an empty transaction",
        ("none", "one key twice"),
    ),
    Difference(
        "moto",
        "test_a_batch_of_writes_that_makes_no_sense_is_refused_whole",
        "neither counts nor checks the writes of a batch before it carries them out",
        (
            "nothing",
            "26 puts",
            "26 writes",
            "one item twice",
            "put and deleted",
            "null index key",
            "incomplete key",
            "attributes beside the key",
        ),
    ),
    Difference("moto", "test_a_batch_with_an_item_over_400_kb_is_refused_whole", "carries out what comes before it"),
    Difference(
        "moto", "test_what_changes_nothing_is_not_in_the_stream", "writes records of changes that change nothing"
    ),
    # -- MiniStack: values, keys, updates
    Difference("ministack", "test_additions_are_exact", "adds with 28 digits"),
    Difference(
        "ministack",
        "test_a_number_written_otherwise_is_the_same_number",
        "adds with 28 digits",
        ("38 digits", "38 digits and zeros", "largest", "largest below zero"),
    ),
    Difference(
        "ministack",
        "test_an_update_that_changes_little_leaves_what_it_says_and_answers_it",
        "makes an item of which things are only removed",
        ("removal, without an item", "two removals, without an item"),
    ),
    Difference(
        "ministack",
        "test_an_update_in_a_transaction_changes_as_much_as_one_alone",
        "makes an item of which things are only removed",
        ("removal, without an item", "two removals, without an item"),
    ),
    Difference(
        "ministack",
        "test_a_condition_decides_over_an_update_that_changes_little",
        "makes an item of which things are only removed",
        ("removal, without an item", "two removals, without an item"),
    ),
    Difference(
        "ministack",
        "test_the_stream_has_an_update_that_changes_something",
        "makes an item of which things are only removed",
        ("removal, without an item", "two removals, without an item"),
    ),
    Difference(
        "ministack",
        "test_a_transaction_that_only_removes_from_nothing_makes_nothing",
        "makes an item of which things are only removed",
    ),
    Difference(
        "ministack",
        "test_an_update_that_makes_no_sense_is_refused",
        "accepts clauses that overlap",
        ("set and remove one attribute", "set and add to one attribute"),
    ),
    Difference(
        "ministack",
        "test_a_wrong_index_key_is_refused",
        "does not check the length of index keys",
        ("long index range key", "long index hash key"),
    ),
    # -- MiniStack: conditions
    Difference(
        "ministack",
        "test_a_filter_keeps_what_the_condition_is_true_of",
        "refuses begins_with on a stored value of another type; gives sizes to numbers, booleans and null",
        ("text prefix", "binary prefix", "size"),
    ),
    Difference(
        "ministack",
        "test_a_write_happens_when_its_condition_is_true",
        "refuses begins_with on a stored value of another type; gives sizes to numbers, booleans and null",
        ("text prefix", "binary prefix", "size"),
    ),
    # -- MiniStack: queries
    Difference(
        "ministack",
        "test_an_interval_that_makes_no_sense_is_refused",
        "does not check the length of operands, nor that bounds are of one type",
        ("mixed types", "long low", "long point"),
    ),
    Difference(
        "ministack",
        "test_a_start_key_that_does_not_fit_is_refused",
        "accepts more attributes in a start key",
        ("an attribute too many", "an index attribute too many"),
    ),
    Difference("ministack", "test_a_filter_on_a_key_is_refused", "accepts filters on keys"),
    Difference(
        "ministack",
        "test_a_filter_on_an_index_sees_only_what_it_projects",
        "filters by attributes that the index does not project",
    ),
    Difference(
        "ministack",
        "test_what_does_not_fit_in_a_batch_of_16_mb_is_left_unprocessed",
        "answers more than 16 MB",
    ),
    # -- MiniStack: transactions
    Difference("ministack", "test_a_token_has_1_to_36_characters", "takes an empty token for none", ("empty",)),
    Difference(
        "ministack",
        "test_a_transaction_with_an_action_that_is_refused_changes_nothing",
        "lets an update in a transaction change a key",
        ("key changed",),
    ),
    Difference(
        "ministack",
        "test_a_transaction_of_reads_that_makes_no_sense_is_refused",
        "takes an incomplete key for one of an item that does not exist",
        ("incomplete key",),
    ),
)
