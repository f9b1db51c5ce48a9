package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

// workshop is the agent that writes and tests the code.
const workshop = "workshop"

// shop is a workspace that is opened at its first use: until then another process may
// work on the same run in the same folder, and be killed.
type shop struct {
	cfg workspace.Config

	mu   sync.Mutex
	open *workspace.Workspace
}

// newShop finds what the workspace needs. Its state is beside the database.
func (o *options) newShop(ctx context.Context) (*shop, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("the code is built with Go, which must be in the PATH: %w", err)
	}
	sum := sha256.Sum256([]byte(o.dir))
	s := &shop{cfg: workspace.Config{
		Dir: o.dir, State: filepath.Join(o.DB+".work", hex.EncodeToString(sum[:6])), Time: 2 * time.Minute,
	}}
	cache := o.cache
	if cache == "" && o.Model == nil {
		out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
		if err != nil {
			return nil, fmt.Errorf("go env GOCACHE: %w", err)
		}
		cache = strings.TrimSpace(string(out))
	}
	if cache != "" {
		cache, err := filepath.Abs(cache)
		if err == nil {
			err = os.MkdirAll(cache, 0o750)
		}
		if err != nil {
			return nil, fmt.Errorf("-cache: %w", err)
		}
		s.cfg.Env, s.cfg.Writable = []string{"GOCACHE=" + cache}, []string{cache}
	}
	return s, nil
}

// Call implements agent.Agent.
func (s *shop) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	w, err := s.workspace(ctx)
	if err != nil {
		return agent.Response{}, err
	}
	return w.Call(ctx, req)
}

// workspace opens the workspace once no other process uses it.
func (s *shop) workspace(ctx context.Context) (*workspace.Workspace, error) {
	const again = 200 * time.Millisecond
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open == nil {
		w, err := workspace.Open(ctx, s.cfg)
		switch {
		case err == nil:
			s.open = w
		case !errors.Is(err, workspace.ErrInUse):
			return nil, err
		default:
			if waited := rehearsal.Wait(ctx, again); waited != nil {
				return nil, errors.Join(err, waited)
			}
		}
	}
	return s.open, nil
}

// Close lets another process use the workspace.
func (s *shop) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return nil
	}
	return s.open.Close()
}
