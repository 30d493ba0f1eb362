"""Translates a SAM template with SAM's own translator and prints CloudFormation JSON.

usage: translate.py TEMPLATE [NAME=VALUE ...]

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


def main(path, *overrides):
    logging.disable(logging.CRITICAL)
    with open(path, encoding="utf-8") as f:
        template = yaml_parse(f.read())
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code.zip"
    parameters = {name: p["Default"] for name, p in template["Parameters"].items() if "Default" in p}
    parameters.update(o.split("=", 1) for o in overrides)
    try:
        out = Translator({}, Parser()).translate(template, parameters, passthrough_metadata=True)
    except InvalidDocumentException as e:
        sys.exit("\n".join([f"{path} cannot be translated:"] + ["  " + cause.message for cause in e.causes]))
    json.dump(out, sys.stdout, indent=1)


main(*sys.argv[1:])
