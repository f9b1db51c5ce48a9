package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby starts a readable server that replicates s. From then on s confirms a commit
// only when the standby has it on disk, too: confirmed commits survive [Server.Promote],
// and without the standby s confirms nothing.
func (s *Server) Standby(ctx context.Context, settings ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	standby := &Server{dir: dir, bin: s.bin, user: s.user, settings: settings}
	if err := errors.Join(s.copyTo(ctx, standby), standby.Restart(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: standby: %w", err), standby.Close())
	}
	if err := s.follow(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: standby: %w", err), standby.Close())
	}
	return standby, nil
}

// copyTo copies the cluster.
func (s *Server) copyTo(ctx context.Context, standby *Server) error {
	if err := s.user.own(standby.dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_basebackup"),
		"-D", standby.data(), "-h", s.dir, "-U", "postgres", "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	cmd.Dir = standby.dir
	s.user.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return nil
}

// follow makes the standby a synchronous one, and waits until it is.
func (s *Server) follow(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return until(ctx, conn, "EXISTS(SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync')")
}

// Promote makes a standby an independent server, which accepts changes when Promote
// returns. The caller must have stopped the server that it replicated.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return fmt.Errorf("pgtest: promote: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "SELECT pg_promote(wait => false)"); err != nil {
		return fmt.Errorf("pgtest: promote: %w", err)
	}
	return until(ctx, conn, "NOT pg_is_in_recovery()")
}

// until waits until a condition holds.
func until(ctx context.Context, conn *pgx.Conn, condition string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		var holds bool
		if err := conn.QueryRow(ctx, "SELECT "+condition).Scan(&holds); err != nil || holds {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not so after %v: %s", startLimit, condition)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
