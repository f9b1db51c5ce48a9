package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

var (
	nudge   = providers.Message{Role: providers.System, Text: "leave the login alone"}
	thought = providers.Message{Role: providers.Assistant, Text: "I begin with the login."}
	asksFor = providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "a", Name: "clock", Input: json.RawMessage("{}")}}}
	noon    = providers.Message{Role: providers.ToolRole, ToolID: "a", Text: "noon"}
	goOn    = providers.Message{Role: providers.User, Text: "go on"}
	blank   = providers.Message{Role: providers.System, Text: " \n"}
)

func told(said ...providers.Message) providers.Request {
	return providers.Request{Messages: append(hi.Messages[:2:2], said...), Tools: []providers.Tool{clock}}
}

// A system message after others goes to OpenAI unchanged, and to servers without known
// support as a reminder in the user's turn.
func TestNudgeInChat(t *testing.T) {
	for _, v := range vendors {
		if v.claude {
			continue
		}
		t.Run("BC44 "+v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			_, err := open(t, spec).Generate(t.Context(), told(asksFor, noon, nudge))
			require.NoError(t, err)
			var sent struct {
				Messages []struct{ Role, Content string }
			}
			require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &sent))
			want := `user: <system-reminder>
leave the login alone
</system-reminder>`
			if v.name == "openai" || v.name == "azure" {
				want = "system: leave the login alone"
			}
			require.Len(t, sent.Messages, 5)
			last := sent.Messages[4]
			assert.Equal(t, "system: be brief", sent.Messages[0].Role+": "+sent.Messages[0].Content)
			assert.Equal(t, want, last.Role+": "+last.Content)
		})
	}
	t.Run("BC44 a blank one is no reminder", func(t *testing.T) {
		v := vendors[2]
		s, spec := v.serve(t, reply(200, v.body(hello)))
		_, err := open(t, spec).Generate(t.Context(), told(asksFor, noon, blank))
		require.NoError(t, err)
		assert.Len(t, s.sent(t)["messages"], 4)
		assert.NotContains(t, s.bodies[0], "system-reminder")
	})
	t.Run("BC44 openai by responses", func(t *testing.T) {
		v := everyone[len(everyone)-1]
		s, spec := v.serve(t, reply(200, v.body(hello)))
		_, err := open(t, spec).Generate(t.Context(), told(asksFor, noon, nudge))
		require.NoError(t, err)
		assert.JSONEq(t, `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
			{"type":"function_call","call_id":"a","name":"clock","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"noon"},
			{"role":"system","content":"leave the login alone"}]`, field(t, s.sent(t), "input"))
	})
}

const reminder = `{"type":"text","text":"<system-reminder>\nleave the login alone\n</system-reminder>"}`

// The newer Claude models take a system message after the user's turn, if the
// assistant's follows or nothing. In other places, and to older models, it is a
// reminder in the user's turn.
func TestNudgeOfClaude(t *testing.T) {
	const (
		user   = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"clock","input":{}}]}`
		result = `{"type":"tool_result","tool_use_id":"a","content":"noon"}`
		system = `{"role":"system","content":[{"type":"text","text":"leave the login alone"}]}`
		begins = `{"role":"assistant","content":[{"type":"text","text":"I begin with the login."}]}`
	)
	tests := []struct {
		name  string
		model string
		said  []providers.Message
		want  string
	}{
		{"behind results", "claude-sonnet-5-5", []providers.Message{asksFor, noon, nudge}, user + "," + call + `,{"role":"user","content":[` + result + `]},` + system},
		{"behind results, of Opus 4.8", "claude-opus-4-8", []providers.Message{asksFor, noon, nudge}, user + "," + call + `,{"role":"user","content":[` + result + `]},` + system},
		{"behind results, of an older model", "claude-sonnet-4-5", []providers.Message{asksFor, noon, nudge}, user + "," + call + `,{"role":"user","content":[` + result + "," + reminder + `]}`},
		{"behind results, of Opus 4.7", "claude-opus-4-7", []providers.Message{asksFor, noon, nudge}, user + "," + call + `,{"role":"user","content":[` + result + "," + reminder + `]}`},
		{"and the work continued", "claude-sonnet-5-5", []providers.Message{nudge, asksFor, noon}, user + "," + system + "," + call + `,{"role":"user","content":[` + result + `]}`},
		{
			"two in a row, and a blank one", "claude-sonnet-5-5",
			[]providers.Message{nudge, blank, nudge},
			user + `,{"role":"system","content":[{"type":"text","text":"leave the login alone"},{"type":"text","text":"leave the login alone"}]}`,
		},
		{"behind the assistant", "claude-sonnet-5-5", []providers.Message{thought, nudge}, user + "," + begins + `,{"role":"user","content":[` + reminder + `]}`},
		{
			"between the user's", "claude-sonnet-5-5",
			[]providers.Message{nudge, goOn},
			`{"role":"user","content":[{"type":"text","text":"hi"},` + reminder + `,{"type":"text","text":"go on"}]}`,
		},
		{"a blank one", "claude-sonnet-5-5", []providers.Message{blank}, user},
		{"a blank one, of an older model", "claude-sonnet-4-5", []providers.Message{blank}, user},
		{"nothing but blanks behind it", "claude-sonnet-5-5", []providers.Message{nudge, {Role: providers.User}}, user + "," + system},
	}
	for _, tt := range tests {
		t.Run("BC44 "+tt.name, func(t *testing.T) {
			v := claudes
			v.model = tt.model
			s, spec := v.serve(t, reply(200, v.body(hello)))
			_, err := open(t, spec).Generate(t.Context(), told(tt.said...))
			require.NoError(t, err)
			assert.JSONEq(t, "["+tt.want+"]", field(t, s.sent(t), "messages"))
			assert.JSONEq(t, `"be brief"`, field(t, s.sent(t), "system"), "the instructions stay as they are, and so does what is cached")
		})
	}
}

// What refuses a system message there gets a reminder, at once and from then on.
func TestNudgeIsRefused(t *testing.T) {
	for name, refusal := range map[string]struct {
		status  int
		message string
	}{
		"the model":           {400, "role 'system' is not supported on this model"},
		"its place":           {400, "messages.2: role 'system' must precede an 'assistant' message or end the array"},
		"the field":           {400, `messages.3.role: Input should be "user" or "assistant"`},
		"a model's template":  {500, "system message must be at the beginning"},
		"a server's template": {400, "Unexpected role 'system' after role 'tool'"},
	} {
		t.Run("BC44 "+name, func(t *testing.T) {
			v := claudes
			v.model = "claude-sonnet-5-5"
			refuse, answer := reply(refusal.status, v.failure(refusal.status, odd, refusal.message)), reply(200, v.body(hello))
			s, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), `"role":"system"`) {
					refuse(w, r)
					return
				}
				answer(w, r)
			})
			m := open(t, spec)
			for range 2 {
				_, err := m.Generate(t.Context(), told(asksFor, noon, nudge))
				require.NoError(t, err)
			}
			require.Equal(t, 3, s.hits(), "it is refused once")
			for _, body := range s.bodies[1:] {
				assert.Equal(t, 1, strings.Count(body, nudge.Text))
			}
		})
	}
	t.Run("BC44 what is about something else is no such refusal", func(t *testing.T) {
		v := claudes
		v.model = "claude-sonnet-5-5"
		s, spec := v.serve(t, reply(500, v.failure(500, broken, "Internal server error")))
		_, err := open(t, spec).Generate(t.Context(), told(asksFor, noon, nudge))
		require.Error(t, err)
		assert.Equal(t, 1, s.hits())
	})
	t.Run("BC44 without a system message behind others there is none", func(t *testing.T) {
		v := claudes
		v.model = "claude-sonnet-5-5"
		s, spec := v.serve(t, reply(400, v.failure(400, odd, "role 'system' is not supported on this model")))
		_, err := open(t, spec).Generate(t.Context(), told(asksFor, noon))
		require.Error(t, err)
		assert.Equal(t, 1, s.hits())
	})
}
