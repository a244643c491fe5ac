"""The user service: its names and addresses in canonical form, its keys in the formats, its 11 indexes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.user_service import Email, User, canonical_email, canonical_name, schema
from shardweave.errors import ValidationFailed, ValueRefused
from shardweave.keys.key_format import ARTICLE, ENTITY_MANAGER, ORDERED

SCHEMA = schema()
ARTICLE_USER: dict[str, Any] = {
    "userId": "wf5yU_5f63gqauSOLpP5O",
    "beneficiaryId": "JCcwi4vyqwMJdaBwbjLG3",
    "created": 1726880933,
    "updated": 1726880933,
    "firstName": "Jason",
    "firstNameCanonical": "jason",
    "lastName": "Williscroft",
    "lastNameCanonical": "williscroft",
    "phone": "17739999999",
}
IN_MILLISECONDS = ARTICLE_USER | {"created": 1726880933000, "updated": 1726880933000}


def test_the_article_s_user_record_comes_out_byte_for_byte() -> None:
    user = schema(ARTICLE)[User]
    assert user.complete(user.dump(user.validate(ARTICLE_USER))) == ARTICLE_USER | {
        "hashKey": "user!1",
        "rangeKey": "userId#wf5yU_5f63gqauSOLpP5O",
        "firstNameRangeKey": "firstNameCanonical#jason|lastNameCanonical#williscroft|created#1726880933",
        "lastNameRangeKey": "lastNameCanonical#williscroft|firstNameCanonical#jason|created#1726880933",
        "userBeneficiaryHashKey": "user!1|beneficiaryId#JCcwi4vyqwMJdaBwbjLG3",
        "userHashKey": "user!1|userId#wf5yU_5f63gqauSOLpP5O",
    }


def test_the_same_record_in_the_default_format() -> None:
    user = SCHEMA[User]
    completed = user.complete(user.dump(user.validate(IN_MILLISECONDS)))
    assert completed["hashKey"] == "user!1"
    assert completed["userBeneficiaryHashKey"] == "user!1 |beneficiaryId#JCcwi4vyqwMJdaBwbjLG3"
    assert completed["firstNameRangeKey"] == (
        "firstNameCanonical#jason |lastNameCanonical#williscroft |created#1726880933000"
    )
    with pytest.raises(ValueRefused, match=r"created: .*in seconds, milliseconds are due"):
        user.complete(user.dump(user.validate(ARTICLE_USER)))


@pytest.mark.parametrize("key_format", [ORDERED, ARTICLE])
def test_ids_of_the_article_fall_into_its_shards(key_format: Any) -> None:
    user = schema(key_format)[User]
    assert user.make_key({"userId": "wf5yU_5f63gqauSOLpP5O"})["hashKey"] == "user!1"
    assert user.make_key({"userId": "SUv7FfJDUsWOmfQg2wp7o"})["hashKey"] == "user!2"
    assert [generation.space.shards for generation in user.shard_map.generations] == [4]


@pytest.mark.parametrize("key_format", [ORDERED, ARTICLE, ENTITY_MANAGER])
def test_an_e_mail_lies_in_its_own_single_shard_with_its_own_token(key_format: Any) -> None:
    email = schema(key_format)[Email]
    delimiter = key_format.element_delimiter
    item = email.dump(email.validate({"email": " Jason@Example.COM ", "userId": "u", "created": 1726880933000}))
    assert email.complete(item) == {
        "email": "jason@example.com",
        "userId": "u",
        "created": 1726880933000,
        "hashKey": "email!",
        "rangeKey": "email#jason@example.com",
        "userHashKey": f"email!{delimiter}userId#u",
    }


def test_the_indexes_with_their_keys_and_start_keys() -> None:
    hash_key, of_user, of_beneficiary = "hashKey", "userHashKey", "userBeneficiaryHashKey"
    assert {
        index.name: (index.hash_key.name, index.range_key.name, index.range_key.type) for index in SCHEMA.layout.indexes
    } == {
        "created": (hash_key, "created", "N"),
        "firstName": (hash_key, "firstNameRangeKey", "S"),
        "lastName": (hash_key, "lastNameRangeKey", "S"),
        "phone": (hash_key, "phone", "S"),
        "updated": (hash_key, "updated", "N"),
        "userBeneficiaryCreated": (of_beneficiary, "created", "N"),
        "userBeneficiaryFirstName": (of_beneficiary, "firstNameRangeKey", "S"),
        "userBeneficiaryLastName": (of_beneficiary, "lastNameRangeKey", "S"),
        "userBeneficiaryPhone": (of_beneficiary, "phone", "S"),
        "userBeneficiaryUpdated": (of_beneficiary, "updated", "N"),
        "userCreated": (of_user, "created", "N"),
    }
    for name, view in SCHEMA[User].views.items():
        if name is not None:
            assert set(view.page_key) == {view.hash_name, view.range_name, "hashKey", "rangeKey"}
    assert set(SCHEMA[Email].views) == {None, "created", "userCreated"}


CANONICAL = {
    "Gómez-Juárez-Álvarez": "gomezjuarezalvarez",
    "Jason": "jason",
    "O'Neill": "oneill",
    "van der Berg": "vanderberg",
    "Strauß": "strauss",
    "Ødegård": "odegard",
    "Łukasz": "lukasz",
    "İpek": "ipek",
    "Ζωή": "ζωη",
    "Дмитрий": "дмитрии",
    "김": "김",
    "李": "李",
    "हिन्दी": "हिन्दी",
    "ﬁnn": "finn",
    "🙂": "",
}


@pytest.mark.parametrize(("name", "canonical"), CANONICAL.items())
def test_names_are_searched_without_case_accents_and_punctuation(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@given(st.text())
def test_a_canonical_form_is_its_own(text: str) -> None:
    assert canonical_name(canonical_name(text)) == canonical_name(text)


@given(st.text(max_size=20), st.text(min_size=1, max_size=20))
def test_a_stored_address_is_accepted_as_it_is_stored(local: str, domain: str) -> None:
    try:
        address = canonical_email(f"{local}@{domain}")
    except ValueError:
        return
    assert canonical_email(address) == address


@pytest.mark.parametrize(
    "address", ["", "@", "a@", "@b", "ab", "a b@c", "a@b c", "a@\u2003b", "a\0@b", "a@b\x1b[2J", "\x7fa@b", "a@b\x9f"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValidationFailed, match=r"email: .*name@domain"):
        SCHEMA[Email].validate({"email": address, "userId": "u"})


def test_canonical_names_follow_from_names_and_may_be_given() -> None:
    user = SCHEMA[User]
    given_names = {"userId": "u", "beneficiaryId": "b", "firstName": "José", "last_name": "Núñez"}
    assert user.validate(given_names).first_name_canonical == "jose"
    assert user.validate(given_names).last_name_canonical == "nunez"
    assert user.validate(given_names | {"firstNameCanonical": "pepe"}).first_name_canonical == "pepe"
    assert User.prepare({"firstName": "José", "firstNameCanonical": "pepe"}) == {
        "firstName": "José",
        "firstNameCanonical": "jose",
    }
    assert User.prepare({"firstName": 5}) == {"firstName": 5}


def test_a_name_without_a_letter_has_an_empty_canonical_form() -> None:
    user = SCHEMA[User]
    record = user.validate({"userId": "u", "beneficiaryId": "b", "firstName": "🙂", "lastName": "ﷺ" * 200})
    assert user.dump(record)["firstNameCanonical"] == ""
    with pytest.raises(ValidationFailed, match="firstName"):
        user.validate({"userId": "u", "beneficiaryId": "b", "firstName": "", "lastName": "x"})


def test_what_a_user_must_have() -> None:
    with pytest.raises(ValidationFailed) as failed:
        SCHEMA[User].validate({"phone": 5, "nickname": "x"})
    assert {str(fault.location[0]) for fault in failed.value.fields} == {
        "beneficiaryId",
        "firstName",
        "firstNameCanonical",
        "lastName",
        "lastNameCanonical",
        "phone",
        "nickname",
    }
