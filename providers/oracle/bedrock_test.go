package oracle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
)

const converseAnswer = `{"output":{"message":{"role":"assistant","content":[{"text":"hello"},{"toolUse":{"toolUseId":"a","name":"weather","input":{"place":"Oslo"}}}]}},` +
	`"stopReason":"tool_use","usage":{"inputTokens":7,"outputTokens":5,"totalTokens":12,"cacheReadInputTokens":4},"metrics":{"latencyMs":1}}`

func TestConverse(t *testing.T) {
	s := serve(t, "application/json", converseAnswer)
	keys := bedrock.Keys{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "secret-of-the-oracle"}
	m, err := bedrock.Open(keys, "eu-west-3")(providers.Spec{Provider: "bedrock", Model: "us.amazon.nova-pro-v1:0", BaseURL: s.URL})
	require.NoError(t, err)
	req := conversation()
	req.Output, req.Stop, req.Temperature = nil, []string{"END"}, new(0.5)
	got, ours := generate(t, s, m, req)

	client := bedrockruntime.New(bedrockruntime.Options{Region: "eu-west-3", BaseEndpoint: aws.String(s.URL), Credentials: keys, RetryMaxAttempts: 1})
	call := func(id, place string) types.ContentBlock {
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String(id), Name: aws.String("weather"), Input: document.NewLazyDocument(map[string]any{"place": place})}}
	}
	result := func(id, text string) types.ContentBlock {
		return &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{ToolUseId: aws.String(id), Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: text}}}}
	}
	out, err := client.Converse(t.Context(), &bedrockruntime.ConverseInput{
		ModelId: aws.String("us.amazon.nova-pro-v1:0"),
		System:  []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: "Be brief."}},
		Messages: []types.Message{
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{
				&types.ContentBlockMemberText{Value: "What is it?"},
				&types.ContentBlockMemberImage{Value: types.ImageBlock{Format: types.ImageFormatPng, Source: &types.ImageSourceMemberBytes{Value: []byte("png")}}},
			}},
			{Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Let me see."}, call("call_a", "Oslo"), call("call_b", "Rome")}},
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{result("call_a", "rain"), result("call_b", "sun")}},
		},
		InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(500), Temperature: aws.Float32(0.5), StopSequences: []string{"END"}},
		ToolConfig: &types.ToolConfiguration{
			Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
				Name: aws.String("weather"), Description: aws.String("Tells the weather."),
				InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(schemaOf(t, weatherSchema))},
			}}},
			ToolChoice: &types.ToolChoiceMemberAny{Value: types.AnyToolChoice{}},
		},
	})
	require.NoError(t, err)
	sameJSON(t, s.last(), ours)
	assert.Equal(t, s.paths[1]+"-stream", s.paths[0])

	said := out.Output.(*types.ConverseOutputMemberMessage).Value.Content
	assert.Equal(t, said[0].(*types.ContentBlockMemberText).Value, got.Text)
	assert.Equal(t, *said[1].(*types.ContentBlockMemberToolUse).Value.ToolUseId, got.ToolCalls[0].ID)
	assert.Equal(t, int64(*out.Usage.InputTokens+*out.Usage.CacheReadInputTokens), got.Usage.Input)
	assert.Equal(t, int64(*out.Usage.OutputTokens), got.Usage.Output)
}
