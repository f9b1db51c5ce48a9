package langchain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// claudeStream is an answer that is put together from its events. It has no tool
// calls: with tools nothing is streamed.
type claudeStream struct {
	text  strings.Builder
	stop  string
	usage fields          // the counts come in several events, the last ones count
	fault json.RawMessage // the vendor's error
}

// claudeEvent is one event of an answer.
type claudeEvent struct {
	Type    string `json:"type"`
	Message struct {
		Usage fields `json:"usage"`
	} `json:"message"`
	Delta struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Reason string `json:"stop_reason"`
	} `json:"delta"`
	Block claudeBlock     `json:"content_block"`
	Usage fields          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (s *claudeStream) add(data []byte, tell func(string) error) (bool, error) {
	var e claudeEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	switch e.Type {
	case "error":
		s.fault = e.Error
		return false, errVendor
	case "message_start":
		s.count(e.Message.Usage)
	case "content_block_start":
		return false, s.say(e.Block.Text, tell)
	case "content_block_delta":
		return false, s.say(e.Delta.Text, tell)
	case "message_delta":
		s.stop = cmp.Or(e.Delta.Reason, s.stop)
		s.count(e.Usage)
	case "message_stop":
		return true, nil
	}
	return false, nil // what is not said in text, or not known yet
}

func (s *claudeStream) count(u fields) {
	for name, tokens := range u {
		if !isSet(tokens) {
			continue
		}
		if s.usage == nil {
			s.usage = fields{}
		}
		s.usage[name] = tokens
	}
}

func (s *claudeStream) say(text string, tell func(string) error) error {
	if text == "" {
		return nil
	}
	s.text.WriteString(text)
	return tell(text)
}

func (s *claudeStream) finished() bool { return s.stop != "" }

func (s *claudeStream) body() object {
	b := object{
		"content":     []object{{"type": "text", "text": s.text.String()}},
		"stop_reason": s.stop,
	}
	if s.usage != nil {
		b["usage"] = s.usage
	}
	if s.fault != nil {
		b["error"] = s.fault
	}
	return b
}
