// Package pgtest starts throwaway Postgres servers for tests and examples.
//
// A server has a temporary folder, listens on a Unix socket only, and ends with the
// process that started it, even if that is killed. It needs the programs of
// Postgres (on Debian and Ubuntu: apt-get install postgresql), and a system that has
// Unix sockets and sh. As root it runs as the user postgres, because Postgres refuses
// root.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotInstalled says that the programs of Postgres were not found, and how to get
// them.
var ErrNotInstalled = errors.New("pgtest: no Postgres server is installed: apt-get install postgresql (or put initdb and postgres into PATH)")

// startLimit is how long a server may take to start.
const startLimit = 30 * time.Second

// Server is a Postgres server. Its methods are not safe for concurrent use.
type Server struct {
	dir, bin string
	user     user
	settings []string
	cmd      *exec.Cmd
	in       io.WriteCloser // the server ends when it is closed; nil: there is no server
	exited   chan struct{}  // closed when the server has ended
	watch    sync.WaitGroup // waits for the end of the server
}

// Start makes a cluster and starts it with settings such as "fsync=off".
func Start(ctx context.Context, settings ...string) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, settings: settings}
	if err := s.init(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: %w", err), os.RemoveAll(dir))
	}
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// find returns the folder of the newest installed version.
func find() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	best, newest := "", 0
	for _, path := range found {
		v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err == nil && v > newest {
			best, newest = filepath.Dir(path), v
		}
	}
	if best != "" {
		return best, nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrNotInstalled
	}
	return filepath.Dir(path), nil
}

func (s *Server) init(ctx context.Context) (err error) {
	if s.user, err = serverUser(); err != nil {
		return err
	}
	if err := s.user.own(s.dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	cmd.Dir = s.dir
	s.user.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// said is what the server has printed since its last start.
func (s *Server) said() string {
	data, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data))
}

// DSN is the address of the server.
func (s *Server) DSN() string { return "host=" + s.dir + " port=5432 user=postgres dbname=postgres" }

// Dir is the folder of the server's Unix socket: the host in a DSN that names several.
func (s *Server) Dir() string { return s.dir }

// Socket is the path of the server's Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// guard is the shell program that watches the server. It stops the server when it reads a
// line. When its input ends without one, because our process has ended, it removes the
// folder, too. It repeats the signal, because a starting server ignores it.
const guard = `exec 3<&0; dir=$1; shift
"$@" </dev/null 3<&- & server=$!
{ read -r line <&3 || touch "$dir/abandoned"; while kill -QUIT $server; do sleep 0.1; done; } 2>/dev/null & waiter=$!
wait $server
kill $waiter 2>/dev/null
[ ! -e "$dir/abandoned" ] || rm -rf "$dir"
exit 0`

// Restart starts the server; a running one is stopped first, as by Stop.
func (s *Server) Restart(ctx context.Context) (err error) {
	if err := s.Stop(); err != nil {
		return err
	}
	args := []string{"-c", guard, "sh", s.dir, filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.cmd = exec.Command("sh", args...) // Stop ends it
	s.cmd.Dir = s.dir
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	s.cmd.Stdout, s.cmd.Stderr = log, log // a file: Wait does not wait for all processes of the server
	s.user.run(s.cmd)
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.in, s.exited = in, make(chan struct{})
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: start: %w", err)
	}
	cmd, exited := s.cmd, s.exited
	s.watch.Go(func() {
		_ = cmd.Wait()
		close(exited)
	})
	return s.await(ctx)
}

// await waits until the server takes connections.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.DSN())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.exited:
			return fmt.Errorf("pgtest: the server ended: %s", s.said())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("pgtest: the server does not start: %w: %s", err, s.said()), s.Stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop stops the server at once, as a crash of all its processes would: what was
// committed is there when it starts again. Without a server it does nothing.
func (s *Server) Stop() error {
	if s.in == nil {
		return nil
	}
	_, err := io.WriteString(s.in, "stop\n")
	err = errors.Join(err, s.in.Close())
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = nil // it has ended by itself, or just now
	}
	s.in = nil
	<-s.exited
	s.watch.Wait()
	return err
}

// Close stops the server and removes it.
func (s *Server) Close() error { return errors.Join(s.Stop(), os.RemoveAll(s.dir)) }
