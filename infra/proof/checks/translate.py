"""Translates a SAM template with SAM's own translator and prints CloudFormation JSON.

usage: translate.py TEMPLATE [NAME=VALUE ...]    the translated template

Nothing is uploaded and AWS is not asked: the code's place is made up, as the
translator takes no local one.
"""

import json
import logging
import os
import sys

os.environ.update(AWS_DEFAULT_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true", AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")

from samtranslator.parser.parser import Parser
from samtranslator.public.exceptions import InvalidDocumentException
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


def translate(text, overrides):
    template = yaml_parse(text)
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code.zip"
    parameters = {name: p["Default"] for name, p in template["Parameters"].items() if "Default" in p}
    parameters.update(overrides)
    try:
        return Translator({}, Parser()).translate(template, parameters, passthrough_metadata=True)
    except InvalidDocumentException as e:
        sys.exit("\n".join(["the template cannot be translated:"] + ["  " + cause.message for cause in e.causes]))


logging.disable(logging.CRITICAL)
with open(sys.argv[1], encoding="utf-8") as f:
    json.dump(translate(f.read(), dict(o.split("=", 1) for o in sys.argv[2:])), sys.stdout, indent=1)
