package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/engine"
)

// Hosts read durations as texts. Records keep numbers, so that logs of other versions are
// read, and their hashes stay.
func TestQuestionsOfHostsAndOfRecords(t *testing.T) {
	q := engine.Question{Key: "k", Text: "Pay?", Data: json.RawMessage(`{"n":1}`), Timeout: 7 * 24 * time.Hour, Only: []string{"ann"}}
	const shown = `{"key":"k","text":"Pay?","data":{"n":1},"timeout":"168h0m0s","only":["ann"]}`
	const recorded = `{"key":"k","text":"Pay?","data":{"n":1},"timeout":604800000000000,"only":["ann"],"schema":{"type":"boolean"},"again":true}`
	for _, tt := range []struct {
		name, json string
		value      any
		read       any
	}{
		{"a host's", shown, q, &engine.Question{}},
		{"a record's", recorded, engine.Ask{Question: q, Schema: json.RawMessage(`{"type":"boolean"}`), Again: true}, &engine.Ask{}},
		{"without a timeout", `{"key":"k"}`, engine.Question{Key: "k"}, &engine.Question{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := engine.Encode(tt.value)
			require.NoError(t, err)
			assert.Equal(t, tt.json, string(data))
			require.NoError(t, json.Unmarshal(data, tt.read))
			again, err := engine.Encode(tt.read)
			require.NoError(t, err)
			assert.Equal(t, tt.json, string(again))
		})
	}
	t.Run("a record read as a question", func(t *testing.T) {
		var read engine.Question
		require.NoError(t, json.Unmarshal([]byte(recorded), &read))
		assert.Equal(t, q, read)
	})
	t.Run("a timeout that is none", func(t *testing.T) {
		for data, want := range map[string]string{
			`{"timeout":"soon"}`:  `timeout is "soon", want a duration such as "5m"`,
			`{"timeout":true}`:    `timeout is true, want a duration such as "5m"`,
			`{"timeout":{"s":1}}`: `timeout is {"s":1}, want a duration such as "5m"`,
		} {
			assert.EqualError(t, json.Unmarshal([]byte(data), new(engine.Question)), want)
		}
		assert.Error(t, json.Unmarshal([]byte(`{"key":1}`), new(engine.Question)))
		assert.Error(t, json.Unmarshal([]byte(`{"key":1}`), new(engine.Ask)))
	})
}
