package oracle_test

import (
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
)

var claudeStream = events(
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S=="}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hel"}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_a","name":"weather","input":{}}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"place\":"}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7}}`,
	`{"type":"message_stop"}`)

func TestClaude(t *testing.T) {
	s := serve(t, "text/event-stream", claudeStream)
	m, err := anthropic.Open(providers.Keys{"anthropic": secret})(providers.Spec{Provider: "anthropic", Model: "claude-opus-4-8", BaseURL: s.URL + "/v1"})
	require.NoError(t, err)
	req := cachedConversation()
	req.ToolChoice, req.Effort, req.Stop = "", providers.EffortHigh, []string{"END"}
	got, ours := generate(t, s, m, req)
	known[sdk.MessageNewParams](t, ours, "stream", "messages")

	client := sdk.NewClient(option.WithAPIKey(secret), option.WithBaseURL(s.URL))
	params := claudeParams(t)
	params.Model = "claude-opus-4-8"
	params.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: schemaOf(t, answerSchema)}
	stream := client.Messages.NewStreaming(t.Context(), params)
	var whole sdk.Message
	for stream.Next() {
		require.NoError(t, whole.Accumulate(stream.Current()))
	}
	require.NoError(t, stream.Err())
	sameJSON(t, s.last(), ours, "messages")
	sameMessages(t, s.last(), ours)

	assert.Equal(t, whole.Content[1].Text, got.Text)
	require.Len(t, got.ToolCalls, 1)
	assert.Equal(t, whole.Content[2].ID, got.ToolCalls[0].ID)
	assert.JSONEq(t, string(whole.Content[2].Input), string(got.ToolCalls[0].Input))
	assert.Equal(t, whole.Usage.InputTokens+whole.Usage.CacheReadInputTokens, got.Usage.Input)
	assert.Equal(t, whole.Usage.OutputTokens, got.Usage.Output)

	// the thought goes back as the SDK would send it
	req.Messages = append(req.Messages, providers.Message{Role: providers.Assistant, Text: got.Text, ToolCalls: got.ToolCalls}, providers.Message{Role: providers.ToolRole, ToolID: "toolu_a", Text: "rain"})
	_, again := generate(t, s, m, req)
	last := params.Messages[len(params.Messages)-1].Content
	last[len(last)-1].OfToolResult.CacheControl = sdk.CacheControlEphemeralParam{} // the mark moves on
	params.Messages = append(params.Messages, whole.ToParam(), sdk.NewUserMessage(marked(toolResult("toolu_a", "rain"))))
	stream = client.Messages.NewStreaming(t.Context(), params)
	for stream.Next() {
	}
	require.NoError(t, stream.Err())
	sameMessages(t, s.last(), again)
}

// claudeParams is the conversation in the SDK's words, with what is marked for the
// cache.
func claudeParams(t *testing.T) sdk.MessageNewParams {
	t.Helper()
	return sdk.MessageNewParams{
		MaxTokens: 500, StopSequences: []string{"END"},
		System: []sdk.TextBlockParam{{Text: thorough, CacheControl: sdk.NewCacheControlEphemeralParam()}},
		Messages: []sdk.MessageParam{
			sdk.NewUserMessage(sdk.NewTextBlock("What is it?"), sdk.NewImageBlockBase64("image/png", png)),
			sdk.NewAssistantMessage(sdk.NewTextBlock("Let me see."),
				sdk.NewToolUseBlock("call_a", map[string]any{"place": "Oslo"}, "weather"), sdk.NewToolUseBlock("call_b", map[string]any{"place": "Rome"}, "weather")),
			sdk.NewUserMessage(toolResult("call_a", "rain"), marked(toolResult("call_b", "sun"))),
		},
		Tools: []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{
			Name: "weather", Description: sdk.String("Tells the weather."), InputSchema: sdk.ToolInputSchemaParam{
				Properties: map[string]any{"place": map[string]any{"type": "string"}}, Required: []string{"place"}, ExtraFields: map[string]any{"additionalProperties": false},
			},
		}}},
		Thinking:     sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}},
		OutputConfig: sdk.OutputConfigParam{Effort: sdk.OutputConfigEffortHigh},
	}
}

// marked is b as the end of what is cached.
func marked(b sdk.ContentBlockParamUnion) sdk.ContentBlockParamUnion {
	b.OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
	return b
}

func toolResult(id, text string) sdk.ContentBlockParamUnion {
	return sdk.ContentBlockParamUnion{OfToolResult: &sdk.ToolResultBlockParam{
		ToolUseID: id, Content: []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: text}}},
	}}
}

// sameMessages compares conversations in which a result's text may be a list.
func sameMessages(t *testing.T, want, got string) {
	t.Helper()
	w, g := schemaOf(t, want)["messages"], schemaOf(t, got)["messages"]
	assert.Equal(t, listed(w), listed(g))
}

func listed(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = listed(v[i])
		}
	case map[string]any:
		if text, isText := v["content"].(string); isText && v["type"] == "tool_result" {
			v["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		for name := range v {
			v[name] = listed(v[name])
		}
	}
	return v
}
