package orchestrator_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// What a web page reads of a run: money in USD, durations as texts, at any depth.
func TestInfoAsHostsReadIt(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	score := 80.0
	info := orchestrator.Info{
		ID: "r", Flow: "f", Status: orchestrator.Waiting, Started: at, Changed: at,
		Outcome:   &orchestrator.Outcome{Status: orchestrator.Partial, Score: &score, Elapsed: 90 * time.Second, Spent: providers.Usage{Cost: providers.Dollars(0.25)}},
		Questions: []orchestrator.Question{{Key: "publish", Timeout: 7 * 24 * time.Hour}},
		Spent:     providers.Usage{Calls: 2, Cost: providers.Dollars(1.5)},
		Lost:      orchestrator.Lost{Calls: 1, Cost: 1},
		ByAgent:   map[string]providers.Usage{"a": {Calls: 2, Cost: providers.Dollars(1.5)}},
	}
	data, err := json.Marshal(info)
	require.NoError(t, err)
	assert.Equal(t, `{"id":"r","flow":"f","status":"waiting",`+
		`"outcome":{"status":"partial","score":80,"spent":{"cost":0.25},"elapsed":"1m30s"},`+
		`"questions":[{"key":"publish","timeout":"168h0m0s"}],"spent":{"calls":2,"cost":1.5},"lost":{"calls":1,"cost":0.000000001},`+
		`"byAgent":{"a":{"calls":2,"cost":1.5}},"started":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z"}`, string(data))
	var again orchestrator.Info
	require.NoError(t, json.Unmarshal(append(data[:len(data)-1:len(data)-1], `,"new":1}`...), &again))
	assert.Equal(t, info, again)
}

// A typo in the key of a question says which one is open.
func TestAnswerToAlmostAQuestion(t *testing.T) {
	asks := orchestrator.Flow[string, bool]{Name: "asks", Do: func(c *orchestrator.Context, key string) (bool, error) {
		return orchestrator.Await[bool](c, orchestrator.Question{Key: key})
	}}
	eng, err := orchestrator.NewLocal(orchestrator.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, eng.Close(context.WithoutCancel(t.Context()))) }()
	run, err := asks.Start(t.Context(), eng, "publish", orchestrator.StartOptions{})
	require.NoError(t, err)
	for rec, err := range run.Events(t.Context(), 0) {
		require.NoError(t, err)
		if rec.Kind == "asked" {
			break
		}
	}
	err = run.Answer(t.Context(), "publsh", true)
	require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
	assert.ErrorContains(t, err, `; "publish" is open`)
	err = run.Answer(t.Context(), "delete", true)
	require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
	assert.NotContains(t, err.Error(), "is open")
	require.NoError(t, run.Answer(t.Context(), "publish", true))
	require.NoError(t, run.Wait(t.Context()))
}
