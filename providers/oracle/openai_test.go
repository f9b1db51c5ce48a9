package oracle_test

import (
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/openai"
)

var chatStream = events(
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"hel"},"finish_reason":null}]}`,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}`,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}},{"index":1,"id":"b","type":"function","function":{"name":"weather","arguments":"{}"}}]},"finish_reason":null}]}`,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"place\":\"Oslo\"}"}}]},"finish_reason":null}]}`,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`,
	"[DONE]")

func client(s *stub) *sdk.Client {
	return new(sdk.NewClient(option.WithAPIKey(secret), option.WithBaseURL(s.URL+"/v1")))
}

func openModel(t *testing.T, s *stub, api string) providers.Model {
	t.Helper()
	m, err := openai.Open(providers.Keys{"openai": secret})(providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: s.URL + "/v1", API: api})
	require.NoError(t, err)
	return m
}

func schemaOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &schema))
	return schema
}

func TestChat(t *testing.T) {
	s := serve(t, "text/event-stream", chatStream)
	got, ours := generate(t, s, openModel(t, s, "chat"), conversation())
	known[sdk.ChatCompletionNewParams](t, ours, "stream")

	assistant := sdk.AssistantMessage("Let me see.")
	for _, c := range []struct{ id, place string }{{"call_a", "Oslo"}, {"call_b", "Rome"}} {
		assistant.OfAssistant.ToolCalls = append(assistant.OfAssistant.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{ID: c.id, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name: "weather", Arguments: `{"place":"` + c.place + `"}`,
			}},
		})
	}
	stream := client(s).Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{
		Model: "gpt-4o",
		Messages: []sdk.ChatCompletionMessageParamUnion{
			sdk.SystemMessage("Be brief."),
			sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
				sdk.TextContentPart("What is it?"), sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + png}),
			}),
			assistant, sdk.ToolMessage("rain", "call_a"), sdk.ToolMessage("sun", "call_b"),
		},
		Tools: []sdk.ChatCompletionToolUnionParam{sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "weather", Description: sdk.String("Tells the weather."), Parameters: schemaOf(t, weatherSchema),
		})},
		ToolChoice: sdk.ChatCompletionToolChoiceOptionUnionParam{OfAuto: sdk.String("required")},
		ResponseFormat: sdk.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Strict: sdk.Bool(true), Schema: schemaOf(t, answerSchema)},
		}},
		MaxCompletionTokens: sdk.Int(500),
		StreamOptions:       sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	})
	var whole sdk.ChatCompletionAccumulator
	for stream.Next() {
		assert.True(t, whole.AddChunk(stream.Current()))
	}
	require.NoError(t, stream.Err())
	sameJSON(t, s.last(), ours)

	said := whole.Choices[0].Message
	assert.Equal(t, said.Content, got.Text)
	require.Len(t, got.ToolCalls, len(said.ToolCalls))
	for i, c := range said.ToolCalls {
		assert.Equal(t, c.ID, got.ToolCalls[i].ID)
		assert.Equal(t, c.Function.Arguments, string(got.ToolCalls[i].Input))
	}
	assert.Equal(t, whole.Usage.PromptTokens, got.Usage.Input)
	assert.Equal(t, whole.Usage.CompletionTokens, got.Usage.Output)
	assert.Equal(t, whole.Usage.PromptTokensDetails.CachedTokens, got.Usage.CacheRead)
	assert.Equal(t, whole.Usage.CompletionTokensDetails.ReasoningTokens, got.Usage.Reasoning)
}

const responsesAnswer = `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","error":null,"incomplete_details":null,"output":[` +
	`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E"},` +
	`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]},` +
	`{"type":"function_call","id":"fc_1","call_id":"a","name":"weather","arguments":"{\"place\":\"Oslo\"}","status":"completed"}],` +
	`"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":18}}`

var responsesStream = events(
	`{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[]}}`,
	`{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"hel"}`,
	`{"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"lo"}`,
	`{"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_1","output_index":2,"delta":"{\"place\":\"Oslo\"}"}`,
	`{"type":"response.completed","sequence_number":4,"response":`+responsesAnswer+`}`)

func TestResponses(t *testing.T) {
	s := serve(t, "text/event-stream", responsesStream)
	m := openModel(t, s, "responses")
	req := conversation()
	req.Effort = providers.EffortHigh
	got, ours := generate(t, s, m, req)
	known[responses.ResponseNewParams](t, ours, "stream", "input")

	user := responses.ResponseInputMessageContentListParam{
		responses.ResponseInputContentUnionParam{OfInputText: &responses.ResponseInputTextParam{Text: "What is it?"}},
		responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{ImageURL: sdk.String("data:image/png;base64," + png)}},
	}
	result := func(id, text string) responses.ResponseInputItemUnionParam {
		out := responses.ResponseInputItemParamOfFunctionCallOutput(text)
		out.OfFunctionCallOutput.CallID = sdk.String(id)
		return out
	}
	stream := client(s).Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "gpt-4o",
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Be brief.", responses.EasyInputMessageRoleSystem),
			responses.ResponseInputItemParamOfMessage(user, responses.EasyInputMessageRoleUser),
			responses.ResponseInputItemParamOfMessage("Let me see.", responses.EasyInputMessageRoleAssistant),
			responses.ResponseInputItemParamOfFunctionCall(`{"place":"Oslo"}`, "call_a", "weather"),
			responses.ResponseInputItemParamOfFunctionCall(`{"place":"Rome"}`, "call_b", "weather"),
			result("call_a", "rain"), result("call_b", "sun"),
		}},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "weather", Description: sdk.String("Tells the weather."), Parameters: schemaOf(t, weatherSchema), Strict: sdk.Bool(false),
		}}},
		ToolChoice: responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: sdk.Opt(responses.ToolChoiceOptionsRequired)},
		Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{
			Name: "answer", Strict: sdk.Bool(true), Schema: schemaOf(t, answerSchema),
		}}},
		MaxOutputTokens: sdk.Int(500), Store: sdk.Bool(false),
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortHigh},
		Include:   []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	})
	text := ""
	var whole responses.Response
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			whole = e.Response
		}
	}
	require.NoError(t, stream.Err())
	sameJSON(t, s.last(), ours)
	assert.Equal(t, text, got.Text)
	assert.Equal(t, whole.Usage.InputTokens, got.Usage.Input)
	assert.Equal(t, whole.Usage.OutputTokens, got.Usage.Output)
	assert.Equal(t, whole.Usage.InputTokensDetails.CachedTokens, got.Usage.CacheRead)
	call := whole.Output[2].AsFunctionCall()
	require.Len(t, got.ToolCalls, 1)
	assert.Equal(t, call.CallID, got.ToolCalls[0].ID)
	assert.Equal(t, call.Arguments, string(got.ToolCalls[0].Input))

	// the reasoning goes back as it came
	req.Messages = append(req.Messages, providers.Message{Role: providers.Assistant, Text: got.Text, ToolCalls: got.ToolCalls}, providers.Message{Role: providers.ToolRole, ToolID: "a", Text: "rain"})
	_, again := generate(t, s, m, req)
	assert.Contains(t, again, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E"}`)
	known[responses.ResponseNewParams](t, again, "stream", "input")
}

// toStub sends what is meant for the vendor to a stub: only there requests say which
// cache they belong to.
type toStub struct{ s *stub }

func (to toStub) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", to.s.Listener.Addr().String()
	return http.DefaultTransport.RoundTrip(r)
}

// The key of the cache is one that the SDK knows, in both formats, and the same for
// conversations that begin alike.
func TestCacheKey(t *testing.T) {
	chat := serve(t, "text/event-stream", chatStream)
	answers := serve(t, "text/event-stream", responsesStream)
	for api, s := range map[string]*stub{"chat": chat, "responses": answers} {
		m, err := openai.Opener{Keys: providers.Keys{"openai": secret}, Transport: toStub{s}}.Open(providers.Spec{Provider: "openai", Model: "gpt-4o", API: api})
		require.NoError(t, err)
		_, first := generate(t, s, m, cachedConversation())
		longer := cachedConversation()
		longer.Messages = append(longer.Messages, providers.Message{Role: providers.Assistant, Text: "It is wet."}, providers.Message{Role: providers.User, Text: "Where?"})
		_, second := generate(t, s, m, longer)
		assert.Equal(t, schemaOf(t, first)["prompt_cache_key"], schemaOf(t, second)["prompt_cache_key"])
		assert.NotEmpty(t, schemaOf(t, first)["prompt_cache_key"])
		if api == "chat" {
			known[sdk.ChatCompletionNewParams](t, first, "stream")
		} else {
			known[responses.ResponseNewParams](t, first, "stream", "input")
		}
	}
}
