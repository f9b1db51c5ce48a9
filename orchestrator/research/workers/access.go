package workers

import (
	"net/netip"
	"slices"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/address"
)

// ErrAddress says that an address must not be read: by its form, or by where it resolves to.
const ErrAddress = address.Err

// Access says what may be reached beyond public addresses at the ports 80 and 443. The
// zero value allows nothing else.
type Access struct {
	// AllowPrivate are networks whose addresses may be reached although they are not
	// public, such as that of an intranet, or 127.0.0.1/32 in a test. One that holds
	// 169.254.169.254 gives away the credentials of a machine in a cloud.
	AllowPrivate []netip.Prefix

	// Ports may be used beside 80 and 443.
	Ports []uint16
}

func (a Access) clone() Access {
	return Access{AllowPrivate: slices.Clone(a.AllowPrivate), Ports: slices.Clone(a.Ports)}
}

// rules are what a says, as a check of addresses.
func (a Access) rules() address.Rules { return address.Rules(a) }
