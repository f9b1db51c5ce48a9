package oracle_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
)

const nudge = "Leave the login alone."

// nudged is a request whose last message is the system's.
func nudged(req providers.Request) providers.Request {
	req.Messages = append(req.Messages, providers.Message{Role: providers.System, Text: nudge})
	return req
}

// sameAsLast wants the last item of a list in a request to be what an SDK writes.
func sameAsLast(t *testing.T, said any, request, list string) {
	t.Helper()
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(request), &body))
	var items []json.RawMessage
	require.NoError(t, json.Unmarshal(body[list], &items))
	want, err := json.Marshal(said)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(items[len(items)-1]))
}

// A system message behind the results of tools stands where it was said, in each
// vendor's own words.
func TestNudge(t *testing.T) {
	t.Run("BC44 claude", func(t *testing.T) {
		s := serve(t, "text/event-stream", claudeStream)
		m, err := anthropic.Open(providers.Keys{"anthropic": secret})(providers.Spec{Provider: "anthropic", Model: "claude-sonnet-5-5", BaseURL: s.URL + "/v1"})
		require.NoError(t, err)
		req := nudged(cachedConversation())
		req.ToolChoice = ""
		_, ours := generate(t, s, m, req)
		sameAsLast(t, sdk.MessageParam{Role: sdk.MessageParamRoleSystem, Content: []sdk.ContentBlockParamUnion{
			{OfText: &sdk.TextBlockParam{Text: nudge, CacheControl: sdk.NewCacheControlEphemeralParam()}},
		}}, ours, "messages")
		known[sdk.MessageNewParams](t, ours, "stream", "messages")
		assert.Equal(t, thorough, schemaOf(t, ours)["system"].([]any)[0].(map[string]any)["text"])
	})
	t.Run("BC44 chat", func(t *testing.T) {
		s := serve(t, "text/event-stream", chatStream)
		_, ours := generate(t, s, openModel(t, s, "chat"), nudged(conversation()))
		sameAsLast(t, openai.SystemMessage(nudge), ours, "messages")
		known[openai.ChatCompletionNewParams](t, ours, "stream")
	})
	t.Run("BC44 responses", func(t *testing.T) {
		s := serve(t, "text/event-stream", responsesStream)
		_, ours := generate(t, s, openModel(t, s, "responses"), nudged(conversation()))
		sameAsLast(t, responses.ResponseInputItemParamOfMessage(nudge, responses.EasyInputMessageRoleSystem), ours, "input")
	})
	t.Run("BC44 converse", func(t *testing.T) {
		s := serve(t, "application/json", converseAnswer)
		_, ours := generate(t, s, openBedrock(t, s, nova), nudged(novaRequest()))
		in := converseInput(t)
		last := &in.Messages[len(in.Messages)-1]
		end := len(last.Content) - 1 // the mark follows the nudge
		last.Content = append(last.Content[:end:end], &types.ContentBlockMemberText{Value: "<system-reminder>\n" + nudge + "\n</system-reminder>"}, last.Content[end])
		_, err := runtimeClient(s).Converse(t.Context(), in)
		require.NoError(t, err)
		sameJSON(t, s.last(), ours)
	})
}
