// Package bedrock opens the models of Amazon Bedrock: [Opener] turns a
// providers.Spec such as "bedrock:anthropic.claude-sonnet-5" into a
// providers.Model. It is a module of its own, so that a host without AWS gets
// nothing of it.
//
// # What is sent
//
// Anthropic's models are asked by InvokeModel, in the body that is theirs, because
// Converse has no place for a tool choice of none. All others are asked by
// Converse, which is the same for every family of models. An inference profile
// whose ARN does not tell the family has it in Spec.Family. Each call is one HTTP
// request, signed by the AWS SDK's signer as the last thing that happens to it.
// Answers are streamed, which needs the right bedrock:InvokeModelWithResponseStream;
// without it, they come in one piece.
//
// Neither langchaingo's client for Bedrock nor the SDK's is in between.
// langchaingo's makes an error of an answer that reaches its limit, and loses its
// text and usage; it cannot send a temperature of 0, a tool choice of none or a
// schema, and reads neither cached tokens nor thinking; its streams lose the calls
// of tools, and one that breaks off counts as whole. What it leaves out of a request
// cannot be put right below it, for there the body is signed. The SDK's client takes
// a token from the environment in the place of the credentials that it was given,
// retries what fails unless it is told not to, and starts two goroutines a stream.
//
// # Tools and schemas
//
// Request.Output becomes a tool that the model has to call; its input is the
// answer's text. Models that cannot be forced to call a tool are told in the system
// message: what to answer, or which tool to call. Those are Anthropic's since
// Claude 5.1, for schemas all that are asked by Converse, and schemas of something
// else than an object. Anthropic's own output format is not used: the models of
// Bedrock that take it also take the tool, and the tool takes every schema.
//
// Anthropic's models since Claude 4.7 refuse a temperature: it is not sent to them.
// They want a limit on tokens, thinking included, which Bedrock sets aside from the
// account's quota: without MaxTokens it is 16,384, before Claude 3.7 4,096.
//
// Thinking is not shown. Where a model wants to see it again, it travels in
// ToolCall.Extra.
//
// # Keys
//
// AWS credentials are passed in by the host and never read from the environment.
// No error holds them.
package bedrock
