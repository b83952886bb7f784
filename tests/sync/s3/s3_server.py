#!/usr/bin/env python3
"""An S3 server on a free port of 127.0.0.1, from the package moto, which checks signatures, rights and conditions.

Prints one line when it is ready: PORT KEY SECRET READER_KEY READER_SECRET. The first keys may read and write the
bucket `weir`, the second ones may only read. The snapshot of the region `large` there is one byte too large. It ends
with its standard input.
"""
import json
import os
import sys
import threading

# Nothing of the machine's own configuration counts.
os.environ.update(AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE="/dev/null", AWS_SHARED_CREDENTIALS_FILE="/dev/null")

import boto3
from moto import settings
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_request(self, *_):
        pass


def keys_for(iam, user, actions):
    iam.create_user(UserName=user)
    policy = {"Version": "2012-10-17",
              "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "arn:aws:s3:::weir*"}]}
    iam.put_user_policy(UserName=user, PolicyName="s3", PolicyDocument=json.dumps(policy))
    made = iam.create_access_key(UserName=user)["AccessKey"]
    return [made["AccessKeyId"], made["SecretAccessKey"]]


def main():
    # One request at a time: moto checks a condition and writes in two steps.
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, application, threaded=False, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    account = {"endpoint_url": f"http://127.0.0.1:{server.server_port}", "region_name": "us-east-1",
               "aws_access_key_id": "setup", "aws_secret_access_key": "setup"}
    s3 = boto3.client("s3", **account)
    s3.create_bucket(Bucket="weir")
    s3.put_object(Bucket="weir", Key="large/snapshot.json", Body=bytes(64 * 1024 * 1024 + 1))
    iam = boto3.client("iam", **account)
    writer = keys_for(iam, "writer", ["s3:GetObject", "s3:PutObject", "s3:ListBucket"])
    reader = keys_for(iam, "reader", ["s3:GetObject", "s3:ListBucket"])
    # From now on signatures and policies count.
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    print(server.server_port, *writer, *reader, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
