package langchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
)

// LLM makes a providers.Model usable by code that is written for langchaingo. Its errors
// are *llms.Error, which wrap the model's own; its answers have one choice, with the
// usage under the names that langchaingo's client for OpenAI uses.
//
// JSON mode requests an object of any shape. What the model has no parameter for is left
// out: candidates, penalties, top-k, lengths and metadata. Functions, which langchaingo
// has deprecated, are an error.
func LLM(m providers.Model) llms.Model { return &llm{model: m} }

type llm struct{ model providers.Model }

// Call asks for a text.
func (l *llm) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, l, prompt, options...)
}

// GenerateContent makes one attempt.
func (l *llm) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	req, err := requestOf(ctx, messages, o)
	if err != nil {
		return nil, &llms.Error{Code: llms.ErrCodeInvalidRequest, Message: err.Error(), Provider: "convene", Cause: err}
	}
	resp, err := l.model.Generate(ctx, req)
	if err != nil {
		return nil, failure(err)
	}
	choice := &llms.ContentChoice{Content: resp.Text, StopReason: reasons[resp.Stop], GenerationInfo: map[string]any{
		"PromptTokens": int(resp.Usage.Input), "CompletionTokens": int(resp.Usage.Output), "TotalTokens": int(resp.Usage.Input + resp.Usage.Output),
		"PromptCachedTokens": int(resp.Usage.CacheRead), "ReasoningTokens": int(resp.Usage.Reasoning), "Model": resp.Model, "Usage": resp.Usage,
	}}
	for _, c := range resp.ToolCalls {
		choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{
			ID: c.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: string(c.Input)},
		})
	}
	if len(choice.ToolCalls) > 0 {
		choice.FuncCall = choice.ToolCalls[0].FunctionCall
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

var reasons = map[providers.Stop]string{
	providers.StopEnd: "stop", providers.StopLength: "length", providers.StopTools: "tool_calls", providers.StopFilter: "content_filter",
}

func requestOf(ctx context.Context, messages []llms.MessageContent, o llms.CallOptions) (providers.Request, error) {
	if len(o.Functions) > 0 {
		return providers.Request{}, errors.New("functions are not supported: use tools")
	}
	req := providers.Request{Messages: fromLangchain(messages), MaxTokens: o.MaxTokens}
	req.Stop = o.StopWords
	if o.Temperature != 0 {
		req.Temperature = &o.Temperature
	}
	if o.TopP != 0 {
		req.TopP = &o.TopP
	}
	if o.Seed != 0 {
		req.Seed = new(int64(o.Seed))
	}
	if o.JSONMode || o.ResponseMIMEType == "application/json" {
		req.Output = json.RawMessage(`{"type":"object"}`)
	}
	if o.StreamingFunc != nil {
		req.OnText = func(chunk string) error { return o.StreamingFunc(ctx, []byte(chunk)) }
	}
	for _, t := range o.Tools {
		if t.Function == nil {
			return providers.Request{}, errors.New("a tool has no function")
		}
		input, err := json.Marshal(t.Function.Parameters)
		if err != nil {
			return providers.Request{}, fmt.Errorf("the parameters of tool %q: %w", t.Function.Name, err)
		}
		if string(input) == "null" {
			input = nil
		}
		req.Tools = append(req.Tools, providers.Tool{Name: t.Function.Name, Description: t.Function.Description, Input: input})
	}
	var err error
	req.ToolChoice, err = choiceOf(o.ToolChoice)
	return req, err
}

func choiceOf(choice any) (string, error) {
	switch c := choice.(type) {
	case nil:
		return "", nil
	case string:
		if c == "auto" {
			return "", nil
		}
		if c == "any" {
			return "required", nil
		}
		return c, nil
	case llms.ToolChoice:
		if c.Function != nil {
			return c.Function.Name, nil
		}
	case *llms.ToolChoice:
		if c != nil && c.Function != nil {
			return c.Function.Name, nil
		}
	}
	return "", fmt.Errorf("a tool choice of type %T is not supported", choice)
}

// failure returns err with langchaingo's code.
func failure(err error) *llms.Error {
	out := &llms.Error{Code: llms.ErrCodeUnknown, Message: err.Error(), Provider: "convene", Cause: err}
	var e *providers.Error
	if !errors.As(err, &e) {
		return out
	}
	switch {
	case e.TooLong:
		out.Code = llms.ErrCodeTokenLimit
	case e.Reason != "":
		out.Code = codes[e.Reason]
	default:
		out.Code = codesOfKinds[e.Kind]
	}
	return out
}

var codes = map[providers.Reason]llms.ErrorCode{
	providers.Overloaded: llms.ErrCodeProviderUnavailable, providers.Unavailable: llms.ErrCodeProviderUnavailable,
	providers.Quota: llms.ErrCodeQuotaExceeded, providers.Unauthorized: llms.ErrCodeAuthentication,
	providers.NotFound: llms.ErrCodeResourceNotFound, providers.Refused: llms.ErrCodeContentFilter,
}

var codesOfKinds = map[providers.Kind]llms.ErrorCode{
	providers.RateLimited: llms.ErrCodeRateLimit, providers.Transient: llms.ErrCodeProviderUnavailable,
	providers.Permanent: llms.ErrCodeUnknown, providers.Invalid: llms.ErrCodeInvalidRequest, providers.Canceled: llms.ErrCodeCanceled,
}
