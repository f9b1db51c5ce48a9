//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	osuser "os/user"
	"strconv"
	"syscall"
)

// user is the user of the server's processes; nil: our own.
type user struct{ credential *syscall.Credential }

// serverUser is postgres if we are root.
func serverUser() (user, error) {
	if os.Geteuid() != 0 {
		return user{}, nil
	}
	u, err := osuser.Lookup("postgres")
	if err != nil {
		return user{}, fmt.Errorf("root may not run Postgres, and the user postgres is missing: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return user{}, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return user{}, err
	}
	return user{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func (u user) own(dir string) error {
	if u.credential == nil {
		return nil
	}
	return os.Chown(dir, int(u.credential.Uid), int(u.credential.Gid))
}

// run makes cmd run as the user, and not receive the signals of our terminal.
func (u user) run(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential, Setsid: true}
}
