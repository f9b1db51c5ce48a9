package orchestrator_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// talker reports n pieces of text and answers with them all, once it may.
func talker(n int, may <-chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		select {
		case <-may:
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
		text := ""
		for i := range n {
			piece := strconv.Itoa(i) + " "
			agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: piece})
			text += piece
		}
		return agent.Response{Text: text}, nil
	})
}

// said reads what is told of a run until the end.
func said(t *testing.T, r *orchestrator.Run) []agent.Progress {
	t.Helper()
	var all []agent.Progress
	for p, err := range r.Progress(t.Context()) {
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

func TestProgress(t *testing.T) {
	talk := flow("talk", func(c *orchestrator.Context) (string, error) { return ask(c, "talker", "") })
	t.Run("of a run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			may := make(chan struct{})
			e := local(t, orchestrator.Config{Agents: agent.Roster{"talker": talker(3, may)}})
			r := begin(t, e, talk, "x")
			var got []agent.Progress
			done := make(chan struct{})
			go func() { defer close(done); got = said(t, r) }()
			synctest.Wait()
			close(may)
			<-done
			require.Len(t, got, 3)
			assert.Equal(t, agent.Progress{Agent: "talker", Key: "x/0", Attempt: 1, Kind: agent.ProgressText, Text: "0 "}, got[0])
			assert.Equal(t, "2 ", got[2].Text)
			assert.Empty(t, said(t, r), "nothing more comes of a run that has ended")
		})
	})
	t.Run("of its children", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			may := make(chan struct{})
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return talk.Child(c, none{}) })
			e := local(t, orchestrator.Config{Agents: agent.Roster{"talker": talker(1, may)}})
			r := begin(t, e, parent, "x")
			var got []agent.Progress
			done := make(chan struct{})
			go func() { defer close(done); got = said(t, r) }()
			synctest.Wait()
			close(may)
			<-done
			require.Len(t, got, 1)
			assert.Equal(t, "x/0/0", got[0].Key)
		})
	})
	t.Run("a slow reader misses some and holds nothing up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			may := make(chan struct{})
			const n = 1000
			e := local(t, orchestrator.Config{Agents: agent.Roster{"talker": talker(n, may)}})
			r := begin(t, e, talk, "x")
			read := 0
			done := make(chan struct{})
			go func() {
				defer close(done)
				for _, err := range r.Progress(t.Context()) {
					assert.NoError(t, err)
					if read == 0 {
						_ = r.Wait(t.Context())
					}
					read++
				}
			}()
			synctest.Wait()
			close(may)
			<-done
			assert.Less(t, read, n)
			assert.Positive(t, read)
			require.NoError(t, r.Wait(t.Context()))
		})
	})
	t.Run("nobody watches", func(t *testing.T) {
		watched := false
		look := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			watched = agent.Watched(ctx)
			return agent.Response{}, nil
		})
		_, err := talk.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"talker": look}}), none{})
		require.NoError(t, err)
		assert.False(t, watched)
	})
	t.Run("of a run that nobody works on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain()
			first := local(t, orchestrator.Config{Agents: agent.Roster{"talker": hang}, Store: s})
			begin(t, first, talk, "x")
			require.NoError(t, first.Close(t.Context()))
			second := local(t, orchestrator.Config{Agents: agent.Roster{"talker": hang}, Store: s})
			r, err := second.Open(t.Context(), "x")
			require.NoError(t, err)
			var last error
			for _, err := range r.Progress(t.Context()) {
				last = err
			}
			require.ErrorIs(t, last, orchestrator.ErrStopped)
		})
	})
}
