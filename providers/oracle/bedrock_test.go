package oracle_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	claude "github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
)

const (
	region = "eu-west-3"
	nova   = "us.amazon.nova-pro-v1:0"
	opus   = "global.anthropic.claude-opus-4-8-20260401-v1:0"

	converseUsage  = `"usage":{"inputTokens":7,"outputTokens":5,"totalTokens":18,"cacheReadInputTokens":4,"cacheWriteInputTokens":2}`
	converseAnswer = `{"output":{"message":{"role":"assistant","content":[{"text":"hello"},{"toolUse":{"toolUseId":"a","name":"weather","input":{"place":"Oslo"}}}]}},` +
		`"stopReason":"tool_use",` + converseUsage + `,"metrics":{"latencyMs":1}}`
	eventStream = "application/vnd.amazon.eventstream"
)

var awsKeys = bedrock.Keys{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "secret-of-the-oracle"}

// frames is a stream of AWS's; events are kind, payload, ...
func frames(t *testing.T, events ...string) string {
	t.Helper()
	var b bytes.Buffer
	for i := 0; i < len(events); i += 2 {
		m := eventstream.Message{Payload: []byte(events[i+1])}
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		m.Headers.Set(":event-type", eventstream.StringValue(events[i]))
		m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
		require.NoError(t, eventstream.NewEncoder().Encode(&b, m))
	}
	return b.String()
}

// novaRequest is what Nova is asked: Converse knows no schema for the answer.
func novaRequest() providers.Request {
	req := cachedConversation()
	req.Output, req.Stop, req.Temperature = nil, []string{"END"}, new(0.5)
	return req
}

func openBedrock(t *testing.T, s *stub, model string) providers.Model {
	t.Helper()
	m, err := bedrock.Open(awsKeys, region)(providers.Spec{Provider: "bedrock", Model: model, BaseURL: s.URL})
	require.NoError(t, err)
	return m
}

func runtimeClient(s *stub) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{Region: region, BaseEndpoint: aws.String(s.URL), Credentials: awsKeys, RetryMaxAttempts: 1})
}

// converseInput is novaRequest in the SDK's words, with what is marked for the cache.
func converseInput(t *testing.T) *bedrockruntime.ConverseInput {
	t.Helper()
	call := func(id, place string) types.ContentBlock {
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String(id), Name: aws.String("weather"), Input: document.NewLazyDocument(map[string]any{"place": place})}}
	}
	result := func(id, text string) types.ContentBlock {
		return &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{ToolUseId: aws.String(id), Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: text}}}}
	}
	point := types.CachePointBlock{Type: types.CachePointTypeDefault}
	return &bedrockruntime.ConverseInput{
		ModelId: aws.String(nova),
		System:  []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: thorough}, &types.SystemContentBlockMemberCachePoint{Value: point}},
		Messages: []types.Message{
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{
				&types.ContentBlockMemberText{Value: "What is it?"},
				&types.ContentBlockMemberImage{Value: types.ImageBlock{Format: types.ImageFormatPng, Source: &types.ImageSourceMemberBytes{Value: []byte("png")}}},
			}},
			{Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Let me see."}, call("call_a", "Oslo"), call("call_b", "Rome")}},
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{result("call_a", "rain"), result("call_b", "sun"), &types.ContentBlockMemberCachePoint{Value: point}}},
		},
		InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(500), Temperature: aws.Float32(0.5), StopSequences: []string{"END"}},
		ToolConfig: &types.ToolConfiguration{
			Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
				Name: aws.String("weather"), Description: aws.String("Tells the weather."),
				InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(schemaOf(t, weatherSchema))},
			}}},
			ToolChoice: &types.ToolChoiceMemberAny{Value: types.AnyToolChoice{}},
		},
	}
}

// countsLike wants a usage to say what the SDK read.
func countsLike(t *testing.T, want *types.TokenUsage, got providers.Usage) {
	t.Helper()
	read, written := int64(*want.CacheReadInputTokens), int64(*want.CacheWriteInputTokens)
	assert.Equal(t, int64(*want.InputTokens)+read+written, got.Input)
	assert.Equal(t, int64(*want.OutputTokens), got.Output)
	assert.Equal(t, []int64{read, written}, []int64{got.CacheRead, got.CacheWrite})
}

func TestConverse(t *testing.T) {
	s := serve(t, "application/json", converseAnswer)
	got, ours := generate(t, s, openBedrock(t, s, nova), novaRequest())
	out, err := runtimeClient(s).Converse(t.Context(), converseInput(t))
	require.NoError(t, err)
	sameJSON(t, s.last(), ours)
	assert.Equal(t, s.paths[1]+"-stream", s.paths[0])

	said := out.Output.(*types.ConverseOutputMemberMessage).Value.Content
	assert.Equal(t, said[0].(*types.ContentBlockMemberText).Value, got.Text)
	assert.Equal(t, *said[1].(*types.ContentBlockMemberToolUse).Value.ToolUseId, got.ToolCalls[0].ID)
	countsLike(t, out.Usage, got.Usage)
}

func TestConverseStream(t *testing.T) {
	s := serve(t, eventStream, frames(t,
		"messageStart", `{"role":"assistant"}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hel"}}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"lo"}}`,
		"contentBlockStop", `{"contentBlockIndex":0}`,
		"contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"weather"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"place\":"}}}`,
		"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"\"Oslo\"}"}}}`,
		"contentBlockStop", `{"contentBlockIndex":1}`,
		"messageStop", `{"stopReason":"tool_use"}`,
		"metadata", `{`+converseUsage+`,"metrics":{"latencyMs":1}}`))
	got, ours := generate(t, s, openBedrock(t, s, nova), novaRequest())

	in := converseInput(t)
	out, err := runtimeClient(s).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
		ModelId: in.ModelId, System: in.System, Messages: in.Messages, InferenceConfig: in.InferenceConfig, ToolConfig: in.ToolConfig,
	})
	require.NoError(t, err)
	text, id, input := "", "", ""
	var used *types.TokenUsage
	for e := range out.GetStream().Events() {
		switch e := e.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			id = *e.Value.Start.(*types.ContentBlockStartMemberToolUse).Value.ToolUseId
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch d := e.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text += d.Value
			case *types.ContentBlockDeltaMemberToolUse:
				input += *d.Value.Input
			}
		case *types.ConverseStreamOutputMemberMetadata:
			used = e.Value.Usage
		}
	}
	require.NoError(t, out.GetStream().Err())
	sameJSON(t, s.last(), ours)
	assert.Equal(t, s.paths[1], s.paths[0])
	assert.Equal(t, text, got.Text)
	require.Len(t, got.ToolCalls, 1)
	assert.Equal(t, id, got.ToolCalls[0].ID)
	assert.JSONEq(t, input, string(got.ToolCalls[0].Input))
	require.NotNil(t, used)
	countsLike(t, used, got.Usage)
}

// Anthropic's models on Bedrock are asked as Anthropic's own SDK asks them, as a stream
// and in one piece, which is what credentials get that may not stream.
func TestClaudeOnBedrock(t *testing.T) {
	var stream []string
	var whole struct {
		Message json.RawMessage `json:"message"`
	}
	for line := range strings.Lines(claudeStream) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			stream = append(stream, "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(data))+`","p":"abc"}`)
			if whole.Message == nil {
				require.NoError(t, json.Unmarshal([]byte(data), &whole))
			}
		}
	}
	inOnePiece := strings.NewReplacer(`"content":[]`, `"content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"toolu_a","name":"weather","input":{"place":"Oslo"}}]`,
		`"stop_reason":null`, `"stop_reason":"tool_use"`).Replace(string(whole.Message))
	mayStream := true
	s := serveBy(t, func(path string) (int, string, string) {
		switch {
		case !strings.HasSuffix(path, "stream"):
			return http.StatusOK, "application/json", inOnePiece
		case mayStream:
			return http.StatusOK, eventStream, frames(t, stream...)
		}
		return http.StatusForbidden, "application/json", `{"message":"not authorized to perform: bedrock:InvokeModelWithResponseStream"}`
	})
	m := openBedrock(t, s, opus)
	req := cachedConversation()
	req.ToolChoice, req.Effort, req.Stop, req.Output = "", providers.EffortHigh, []string{"END"}, nil // a schema would be a tool here
	client := sdk.NewClient(claude.WithConfig(aws.Config{Region: region, Credentials: awsKeys}), option.WithBaseURL(s.URL), option.WithMaxRetries(0))
	params := claudeParams(t)
	params.Model = opus

	same := func(name string, got providers.Response, said sdk.Message) {
		t.Helper()
		last := len(s.bodies) - 1 // theirs; ours is the one before
		sameJSON(t, s.bodies[last], s.bodies[last-1], "messages")
		sameMessages(t, s.bodies[last], s.bodies[last-1])
		assert.Equal(t, s.paths[last], s.paths[last-1], name)
		var text, id string
		for _, b := range said.Content {
			if text += b.Text; b.Type == "tool_use" {
				id = b.ID
			}
		}
		assert.Equal(t, text, got.Text)
		require.Len(t, got.ToolCalls, 1)
		assert.Equal(t, id, got.ToolCalls[0].ID)
		assert.Equal(t, said.Usage.InputTokens+said.Usage.CacheReadInputTokens, got.Usage.Input)
		assert.Equal(t, said.Usage.OutputTokens, got.Usage.Output)
	}
	got, err := m.Generate(t.Context(), req)
	require.NoError(t, err)
	events, said := client.Messages.NewStreaming(t.Context(), params), sdk.Message{}
	for events.Next() {
		require.NoError(t, said.Accumulate(events.Current()))
	}
	require.NoError(t, events.Err())
	same("InvokeModelWithResponseStream", got, said)

	mayStream = false
	got, err = m.Generate(t.Context(), req)
	require.NoError(t, err)
	answer, err := client.Messages.New(t.Context(), params)
	require.NoError(t, err)
	same("InvokeModel", got, *answer)
}
