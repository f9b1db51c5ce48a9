package langchain

import (
	"encoding/json"
	"fmt"
	"strings"
)

// chatStream is an answer that is put together from its events.
type chatStream struct {
	text, refusal strings.Builder
	finish        string
	usage         json.RawMessage
	fault         json.RawMessage // the vendor's error
}

// chatEvent is one piece of an answer.
type chatEvent struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (s *chatStream) add(data []byte, tell func(string) error) (bool, error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var e chatEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	if isSet(e.Usage) {
		s.usage = e.Usage
	}
	if isSet(e.Error) {
		s.fault = e.Error
		return false, errVendor
	}
	for _, c := range e.Choices {
		if c.Index != 0 {
			continue
		}
		if c.FinishReason != "" {
			s.finish = c.FinishReason
		}
		s.refusal.WriteString(c.Delta.Refusal)
		if c.Delta.Content == "" {
			continue
		}
		s.text.WriteString(c.Delta.Content)
		if err := tell(c.Delta.Content); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (s *chatStream) finished() bool { return s.finish != "" }

func (s *chatStream) body() object {
	b := object{"choices": []object{{
		"index":         0,
		"message":       object{"role": "assistant", "content": s.text.String(), "refusal": s.refusal.String()},
		"finish_reason": s.finish,
	}}}
	if s.usage != nil {
		b["usage"] = s.usage
	}
	if s.fault != nil {
		b["error"] = s.fault
	}
	return b
}
