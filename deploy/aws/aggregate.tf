# weir's aggregator as a function of AWS Lambda, for a table that `weir store init` or its template has made.
# The package is a zip file with the program weir under the name `bootstrap`; see docs/dynamodb.md.
variable "table" {
  type    = string
  default = "weir"
}

variable "package" {
  type        = string
  description = "The path of the zip file"
  default     = "weir-aggregate.zip"
}

variable "batch_seconds" {
  type        = number
  description = "How long records are collected; all charges of a bucket in a batch share one write"
  default     = 1
}

variable "architecture" {
  type    = string
  default = "x86_64"
}

data "aws_dynamodb_table" "weir" {
  name = var.table
}

# As `weir store init --template iam-aggregate` prints it.
data "aws_iam_policy_document" "aggregate" {
  statement {
    actions = [
      "dynamodb:BatchGetItem",
      "dynamodb:DeleteItem",
      "dynamodb:DescribeTable",
      "dynamodb:Query",
      "dynamodb:UpdateItem",
    ]
    resources = [data.aws_dynamodb_table.weir.arn]
  }
  statement {
    actions   = ["dynamodb:Query"]
    resources = ["${data.aws_dynamodb_table.weir.arn}/index/GSI2"]
  }
  statement {
    actions = [
      "dynamodb:DescribeStream",
      "dynamodb:GetRecords",
      "dynamodb:GetShardIterator",
      "dynamodb:ListStreams",
    ]
    resources = ["${data.aws_dynamodb_table.weir.arn}/stream/*"]
  }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "aggregate" {
  name_prefix        = "weir-aggregate-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "aggregate" {
  role   = aws_iam_role.aggregate.id
  policy = data.aws_iam_policy_document.aggregate.json
}

resource "aws_iam_role_policy_attachment" "logs" {
  role       = aws_iam_role.aggregate.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
}

resource "aws_lambda_function" "aggregate" {
  function_name    = "${var.table}-aggregate"
  role             = aws_iam_role.aggregate.arn
  runtime          = "provided.al2023"
  handler          = "bootstrap"
  architectures    = [var.architecture]
  filename         = var.package
  source_code_hash = filebase64sha256(var.package)
  memory_size      = 256
  timeout          = 60
  environment {
    variables = {
      WEIR_STORE = "dynamodb://${var.table}?deadline_ms=5000"
    }
  }
}

resource "aws_lambda_event_source_mapping" "aggregate" {
  function_name                      = aws_lambda_function.aggregate.arn
  event_source_arn                   = data.aws_dynamodb_table.weir.stream_arn
  starting_position                  = "TRIM_HORIZON"
  batch_size                         = 1000
  maximum_batching_window_in_seconds = var.batch_seconds
  # The records of a bucket stay in order, and a batch is repeated from its first failure on.
  parallelization_factor  = 1
  function_response_types = ["ReportBatchItemFailures"]
  # Only buckets count.
  filter_criteria {
    filter {
      pattern = jsonencode({ dynamodb = { Keys = { SK = { S = [{ prefix = "#BUCKET#" }] } } } })
    }
  }
}

# Folds hours that are older than they are kept into days.
resource "aws_cloudwatch_event_rule" "fold" {
  name_prefix         = "weir-aggregate-"
  schedule_expression = "rate(1 day)"
}

resource "aws_cloudwatch_event_target" "fold" {
  rule = aws_cloudwatch_event_rule.fold.name
  arn  = aws_lambda_function.aggregate.arn
}

resource "aws_lambda_permission" "fold" {
  function_name = aws_lambda_function.aggregate.function_name
  action        = "lambda:InvokeFunction"
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.fold.arn
}

# The stream keeps records for 24 hours.
resource "aws_cloudwatch_metric_alarm" "behind" {
  alarm_name          = "${var.table}-aggregate-behind"
  alarm_description   = "weir counts usage more than an hour late"
  namespace           = "AWS/Lambda"
  metric_name         = "IteratorAge"
  dimensions          = { FunctionName = aws_lambda_function.aggregate.function_name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 2
  threshold           = 3600000
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
}
