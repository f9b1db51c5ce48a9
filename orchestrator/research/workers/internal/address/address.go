// Package address tells which addresses may be read: by their form, and by the network that
// they resolve to.
package address

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Err says that an address must not be read: by its form, or by where it resolves to.
const Err = agent.Code("research/forbidden-address")

// MaxURL is how long an address may be, in bytes.
const MaxURL = 4096

// Rules say what may be reached beyond public addresses at the ports 80 and 443. The zero
// value allows nothing else.
type Rules struct {
	AllowPrivate []netip.Prefix // networks that may be reached although they are not public
	Ports        []uint16       // ports that may be used beside 80 and 443
}

// Parse is the URL of a text, if it may be read, as far as that is known before its name is
// resolved.
func (r Rules) Parse(text string) (*url.URL, error) {
	if len(text) > MaxURL {
		return nil, fmt.Errorf("%w: it has %d bytes, want at most %d", Err, len(text), MaxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no URL", Err)
	}
	return u, r.CheckURL(u)
}

// CheckURL returns an error, which is Err, for a URL that must not be read.
func (r Rules) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: its scheme is %.20q, want http or https", Err, u.Scheme)
	}
	if u.User != nil {
		return fmt.Errorf("%w: it has a user", Err)
	}
	if u.Hostname() == "" || u.Opaque != "" {
		return fmt.Errorf("%w: it has no host", Err)
	}
	if text := u.Port(); text != "" || strings.HasSuffix(u.Host, ":") {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return fmt.Errorf("%w: its port is %.20q", Err, text)
		}
		if err := r.checkPort(uint16(port)); err != nil {
			return err
		}
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return r.checkAddr(addr)
	}
	return nil
}

func (r Rules) checkPort(port uint16) error {
	if port == 80 || port == 443 || slices.Contains(r.Ports, port) {
		return nil
	}
	return fmt.Errorf("%w: its port is %d", Err, port)
}

func (r Rules) checkAddr(addr netip.Addr) error {
	allowed := func(p netip.Prefix) bool { return p.Contains(addr) }
	if isPublic(addr) || slices.ContainsFunc(r.AllowPrivate, allowed) {
		return nil
	}
	return fmt.Errorf("%w: %s is not public", Err, addr)
}

// Control is net.Dialer.Control: it checks the resolved address of each attempt to connect,
// so a name that resolves differently the second time is checked, too.
func (r Rules) Control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("%w: %s %s", Err, network, address)
	}
	if err := r.checkPort(to.Port()); err != nil {
		return err
	}
	return r.checkAddr(to.Addr())
}

var (
	// reserved are the networks of IPv4 that are not public, and one public address.
	reserved = prefixes(
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // behind a carrier's NAT
		"127.0.0.0/8",      // this machine
		"168.63.129.16/32", // a cloud's own service for its machines
		"169.254.0.0/16",   // link-local, where clouds keep credentials
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocols
		"192.0.2.0/24",     // examples
		"192.88.99.0/24",   // relays to IPv6
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // measurements
		"198.51.100.0/24",  // examples
		"203.0.113.0/24",   // examples
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, and broadcast
	)

	// global is the only network of IPv6 with public addresses. reserved6 are its parts
	// without public addresses, and those that lead to other addresses.
	global    = netip.MustParsePrefix("2000::/3")
	reserved6 = prefixes(
		"2001::/23",     // protocols, tunnels
		"2001:db8::/32", // examples
		"2002::/16",     // tunnels to IPv4
		"3fff::/20",     // examples
	)

	// nat64 has addresses of IPv4 in the last four bytes, for networks without IPv4.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// isPublic tells whether an address is one of the internet. An IPv4 address in the form
// of an IPv6 one is not, nor is an address with a zone.
func isPublic(addr netip.Addr) bool {
	within := func(p netip.Prefix) bool { return p.Contains(addr) }
	switch {
	case addr.Is4():
		return !slices.ContainsFunc(reserved, within)
	case nat64.Contains(addr):
		b := addr.As16()
		return isPublic(netip.AddrFrom4([4]byte(b[12:])))
	}
	return global.Contains(addr) && !slices.ContainsFunc(reserved6, within)
}
