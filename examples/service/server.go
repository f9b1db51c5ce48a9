package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// server hands out the runs of one flow. It keeps no state of its own: what it
// shows is in the store, so that any process may show it.
type server struct {
	engine *orchestrator.Engine
	flow   orchestrator.Flow[hierarchy.Input, Outcome]
	log    *slog.Logger
}

// open makes a server and goes on with the runs that the last one left.
func open(ctx context.Context, agents agent.Roster, store blackboard.Store, log *slog.Logger) (*server, error) {
	flow, err := newFlow(hierarchy.Config{Name: "team", Departments: departments()})
	if err != nil {
		return nil, err
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents, Flows: []orchestrator.AnyFlow{flow}, Store: store, Log: log})
	if err != nil {
		return nil, err // it lists agents that the flow wants and the roster has not
	}
	s := &server{eng, flow, log}
	s.resume(ctx)
	return s, nil
}

// resume goes on with the runs that nobody works on.
func (s *server) resume(ctx context.Context) {
	runs, err := s.engine.Resume(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("some runs were not resumed", "err", err)
	}
	if len(runs) > 0 {
		s.log.Info("resumed", "runs", len(runs))
	}
}

// watch resumes runs until ctx is done. That a process was killed shows only when
// its lease in the store has run out, some time after the next one was started.
func (s *server) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.resume(ctx)
		}
	}
}

func (s *server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /runs", s.start)
	m.HandleFunc("GET /runs/{id}", s.with(s.info))
	m.HandleFunc("GET /runs/{id}/events", s.with(s.events))
	m.HandleFunc("GET /runs/{id}/state", s.with(s.state))
	m.HandleFunc("GET /runs/{id}/outcome", s.with(s.outcome))
	m.HandleFunc("POST /runs/{id}/answers/{key}", s.with(s.answer))
	m.HandleFunc("DELETE /runs/{id}", s.with(s.cancel))
	return m
}

// handler is a handler of one run; its error becomes the response.
type handler func(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error

func (s *server) with(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		run, err := s.engine.Open(r.Context(), r.PathValue("id"))
		if err == nil {
			err = h(w, r, run)
		}
		if err != nil {
			s.fail(w, err)
		}
	}
}

// statuses says which error of the library is whose fault.
var statuses = []struct {
	err    error
	status int
}{
	{orchestrator.ErrNoRun, http.StatusNotFound},
	{orchestrator.ErrNoState, http.StatusNotFound},
	{orchestrator.ErrAnswered, http.StatusConflict},
	{orchestrator.ErrExists, http.StatusConflict},
	{orchestrator.ErrMalformed, http.StatusBadRequest},
	{errRequest, http.StatusBadRequest},
	{orchestrator.ErrStopped, http.StatusServiceUnavailable},
}

var errRequest = errors.New("bad request")

func (s *server) fail(w http.ResponseWriter, err error) {
	for _, known := range statuses {
		if errors.Is(err, known.err) {
			http.Error(w, err.Error(), known.status)
			return
		}
	}
	s.log.Error("request failed", "err", err) // the client is not told what
	http.Error(w, "internal error", http.StatusInternalServerError)
}

func reply(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the client has gone: nobody is left to tell
	return nil
}
