// Package bedrock opens the models of Amazon Bedrock: [Opener] turns a
// providers.Spec such as "bedrock:anthropic.claude-sonnet-5" into a
// providers.Model. It is a module of its own, so that hosts without AWS do not get its
// dependencies.
//
// # What is sent
//
// Anthropic's models are called by InvokeModel, with their own body, because Converse
// has no tool choice of none. All others are called by Converse, which is the same for
// every family of models. For an inference profile whose ARN does not tell the family,
// set Spec.Family. Each call is one HTTP request; the AWS SDK's signer signs it as the
// last step. Answers are streamed, which needs the permission
// bedrock:InvokeModelWithResponseStream; without it, they come in one piece.
//
// The package uses neither langchaingo's client for Bedrock nor the SDK's. langchaingo's
// turns an answer that reaches its limit into an error, and loses its text and usage; it
// cannot send a temperature of 0, a tool choice of none or a schema, and reads neither
// cached tokens nor thinking; its streams lose tool calls, and an interrupted one counts
// as complete. What it leaves out of a request cannot be added below it, because there
// the body is signed. The SDK's client prefers a token from the environment to the given
// credentials, retries by default, and starts two goroutines per stream.
//
// # Tools and schemas
//
// Request.Output becomes a tool that the model must call; its input is the answer's
// text. Models that cannot be forced to call a tool are told in the system message what
// to answer, or which tool to call. These are Anthropic's since Claude 5.1, for schemas
// all that are called by Converse, and schemas that are not of an object. Anthropic's own
// output format is not used: the models of Bedrock that take it also take the tool, and
// the tool takes every schema.
//
// Anthropic's models since Claude 4.7 refuse a temperature: it is not sent to them.
// They require a limit on tokens, thinking included, which Bedrock reserves from the
// account's quota: without MaxTokens it is 16,384, before Claude 3.7 4,096.
//
// Thinking is not shown. If a model needs it back, ToolCall.Extra has it.
//
// # Keys
//
// The host passes AWS credentials; they are never read from the environment. No error
// contains them.
package bedrock
