package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
)

// Text is told as it comes; the answer is put together beside it.
func ExampleOpen() {
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // instead of Anthropic
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}`,
			`{"type":"message_stop"}`,
		} {
			_, _ = io.WriteString(w, "data: "+event+"\n\n")
		}
	}))
	defer vendor.Close()

	open := anthropic.Open(providers.Keys{"anthropic": "your-key"})
	model, err := open(providers.Spec{Provider: "anthropic", Model: "claude-sonnet-5-5", BaseURL: vendor.URL + "/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := model.Generate(context.Background(), providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "hi"}},
		Params:   providers.Params{Effort: providers.EffortLow},
		OnText: func(chunk string) error {
			fmt.Printf("%q ", chunk)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text, resp.Stop, resp.Usage.Input, resp.Usage.Output)
	// Output: "hel" "lo" hello end 9 4
}
