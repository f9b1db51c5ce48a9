package answer_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/answer"
)

func TestFindPrefersData(t *testing.T) {
	shape := answer.MustFromSchema(`{"type":"object","required":["a"]}`)
	for _, tt := range []struct {
		name, data, text, want string
	}{
		{"data comes before text", `{"a":1}`, `{"a":2}`, `{"a":1}`},
		{"no data", "", `So: {"a":2}`, `{"a":2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := shape.Find(json.RawMessage(tt.data), tt.text)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(found))
		})
	}
	_, err := shape.Find(json.RawMessage(`{"b":1}`), `{"a":2}`)
	require.Error(t, err, "data that does not fit is not passed over")
}

func TestMustFromSchema(t *testing.T) {
	assert.Panics(t, func() { answer.MustFromSchema(`{"type":7}`) })
}
