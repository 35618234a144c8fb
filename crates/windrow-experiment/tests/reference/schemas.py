"""JSON Schemas, JSON documents, and which of them PyPI's jsonschema holds valid.

Writes {"schemas": [...]} as the first line, then one line per document: {"document": its JSON as
text, "valid": [one bool per schema]}. The same on every run.

Left out: `multipleOf` with a fraction that binary numbers cannot hold. Python divides floats there
and finds that 0.3 is no multiple of 0.1; the Rust crate calculates with decimals and finds it is.
"""

import json
import random
import sys

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

DOCUMENTS = 400

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}

SCHEMAS = [
    True,
    False,
    {},
    PERSON,
    {**PERSON, "additionalProperties": False},
    {**PERSON, "additionalProperties": {"type": "number"}},
    {"type": "null"},
    {"type": "boolean"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "string"},
    {"type": "array"},
    {"type": ["string", "null"]},
    {"const": 1},
    {"const": {"a": [1, False]}},
    {"enum": ["a", "b", None, 0, [], {}]},
    {"minimum": 1, "exclusiveMaximum": 10},
    {"maximum": 2.5, "exclusiveMinimum": -1},
    {"multipleOf": 2},
    {"multipleOf": 0.5},
    {"minLength": 2, "maxLength": 4},
    {"pattern": "^[a-c]+$"},
    {"pattern": "b"},
    {"format": "date"},
    {"items": {"type": "number"}},
    {"prefixItems": [{"type": "number"}, {"type": "string"}], "items": False},
    {"minItems": 1, "maxItems": 2},
    {"uniqueItems": True},
    {"contains": {"type": "string"}},
    {"contains": {"minimum": 1}, "minContains": 2, "maxContains": 3},
    {"minProperties": 1, "maxProperties": 2},
    {"propertyNames": {"maxLength": 1}},
    {"patternProperties": {"^a": {"type": "number"}}, "additionalProperties": False},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"properties": {"b": {"type": "string"}}}}},
    {"allOf": [{"type": ["number", "string"]}, {"not": {"const": 1}}]},
    {"anyOf": [{"type": "string"}, {"minimum": 2}]},
    {"oneOf": [{"type": "number"}, {"minimum": 2}, {"type": "object"}]},
    {"not": {"type": ["array", "object"]}},
    {"if": {"type": "number"}, "then": {"minimum": 0}, "else": {"type": ["string", "object"]}},
    {"$defs": {"tree": {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"},
    {"$id": "https://example.com/list", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}, "type": "array"},
    {"$anchor": "top", "properties": {"a": {"$ref": "#top"}}, "type": ["object", "null", "number"]},
    {"properties": {"a": True}, "unevaluatedProperties": False},
    {"anyOf": [{"required": ["a"], "properties": {"a": True}}, True], "unevaluatedProperties": {"type": "number"}},
    {"prefixItems": [True], "unevaluatedItems": {"type": "number"}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "number"}], "additionalItems": False},
    {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True, "type": "number"},
    {"$schema": "http://json-schema.org/draft-06/schema#", "contains": {"const": "a"}},
    {"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{"type": "string"}], "maxContains": 1},
]


def document(chance, depth=0):
    kinds = ["null", "bool", "int", "float", "text"] + ["list", "map"] * (3 - depth)
    kind = chance.choice(kinds)
    if kind == "null":
        return None
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "int":
        return chance.choice([0, 1, 2, 3, 5, 10, 36, -1, 2**53, 10**20])
    if kind == "float":
        return chance.choice([0.0, 1.0, 2.5, 2.25, -0.5, 1e3, 1e-9])
    if kind == "text":
        return chance.choice(["", "a", "b", "abc", "bcd", "Ada", "2024-02-30", "👍👍", "né"])
    if kind == "list":
        return [document(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    names = chance.sample(["a", "b", "c", "ab", "name", "age"], chance.randint(0, 4))
    return {name: document(chance, depth + 1) for name in names}


def main():
    validators = []
    for schema in SCHEMAS:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        validators.append(kind(schema))
    json.dump({"schemas": SCHEMAS}, sys.stdout)
    chance = random.Random(202012)
    people = [{"name": name, "age": age} for name in ["Ada", "", 1] for age in [36, 36.0, 36.5, -1, "36"]]
    for value in people + [document(chance) for _ in range(DOCUMENTS)]:
        valid = [validator.is_valid(value) for validator in validators]
        sys.stdout.write("\n")
        json.dump({"document": json.dumps(value), "valid": valid}, sys.stdout)
    sys.stdout.write("\n")


main()
