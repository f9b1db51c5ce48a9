package main

import (
	"context"
	"time"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
)

// langchaingo records nothing and has no construct for a DAG, nor for a loop but
// Go's own.
var langchaingo = library{
	name: "langchaingo",
	chain: func(n int, takes time.Duration) (once, error) {
		c := transform(takes)
		return func(ctx context.Context) error { return callChain(ctx, c, n) }, nil
	},
	models: func(n int, takes time.Duration) (once, error) {
		c := chains.NewLLMChain(chainModel{takes}, prompts.NewPromptTemplate("You answer. {{.text}}", []string{"text"}))
		return func(ctx context.Context) error { return callChain(ctx, c, n) }, nil
	},
	fanOut: func(n int, takes time.Duration) (once, error) {
		c := transform(takes)
		in := make([]map[string]any, n)
		for i := range in {
			in[i] = map[string]any{"text": "x"}
		}
		return func(ctx context.Context) error { _, err := chains.Apply(ctx, c, in, n); return err }, nil
	},
	loop: func(rounds int) (once, error) {
		try, grade := transform(0), transform(0)
		return func(ctx context.Context) error {
			for range rounds {
				if err := callChain(ctx, try, 1); err != nil {
					return err
				}
				if err := callChain(ctx, grade, 1); err != nil {
					return err
				}
			}
			return nil
		}, nil
	},
}

func transform(takes time.Duration) chains.Chain {
	return chains.NewTransform(func(ctx context.Context, _ map[string]any, _ ...chains.ChainCallOption) (map[string]any, error) {
		return map[string]any{"text": text}, answer(ctx, takes)
	}, []string{"text"}, []string{"text"})
}

func callChain(ctx context.Context, c chains.Chain, n int) error {
	in := map[string]any{"text": "x"}
	for range n {
		out, err := chains.Call(ctx, c, in)
		if err != nil {
			return err
		}
		if _, ok := out["text"]; ok {
			in = out
		}
	}
	return nil
}

type chainModel struct{ takes time.Duration }

func (m chainModel) GenerateContent(ctx context.Context, _ []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text}}}, answer(ctx, m.takes)
}

func (m chainModel) Call(ctx context.Context, _ string, _ ...llms.CallOption) (string, error) {
	return text, answer(ctx, m.takes)
}
