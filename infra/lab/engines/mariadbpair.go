package engines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"flashsale/infra/lab/shop"
)

// mariadbPair is a primary and a replica that follows its binary log, behind one address
// that leads to the replica after a fail-over.
type mariadbPair struct {
	*mariadb // the primary
	replica  *mariadb
	failover
	// semi: a commit is answered when the replica has it, however long that takes.
	semi bool
}

func startMariaDBPair(ctx context.Context, dir string, o Options, semi bool) (Engine, error) {
	p := &mariadbPair{semi: semi}
	data := ""
	for i, m := range []**mariadb{&p.mariadb, &p.replica} {
		made, err := newMariaDB(ctx, filepath.Join(dir, strconv.Itoa(i)), o, data, "--log-bin=log", "--sync-binlog=1", "--server-id="+strconv.Itoa(i+1),
			"--rpl-semi-sync-slave-enabled", "--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-master-timeout=3600000")
		if err != nil {
			return nil, err
		}
		*m, data = made, made.data()
	}
	for _, m := range []*mariadb{p.mariadb, p.replica} {
		if err := m.server.start(ctx); err != nil {
			return nil, errors.Join(err, p.Stop())
		}
	}
	lead, err := newFailover(address(p.server.port))
	if err == nil {
		p.failover = lead
		err = p.Reset(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Reset makes the first server the primary again, empties both, and waits until the
// replica follows.
func (p *mariadbPair) Reset(ctx context.Context) error {
	select {
	case <-p.server.process.Done():
		if err := p.server.start(ctx); err != nil {
			return err
		}
	default:
	}
	_, port, err := net.SplitHostPort(p.copies.Address())
	if err != nil {
		return fmt.Errorf("read relay address: %w", err)
	}
	err = errors.Join(
		p.replica.do(ctx, "STOP SLAVE", "RESET SLAVE ALL", "RESET MASTER", "SET GLOBAL gtid_slave_pos = ''", "DROP DATABASE IF EXISTS "+database),
		p.do(ctx, "SET GLOBAL rpl_semi_sync_master_enabled = OFF", "DROP DATABASE IF EXISTS "+database, "RESET MASTER", "CREATE DATABASE "+database),
	)
	if err != nil {
		return err
	}
	p.restore(address(p.server.port))
	err = p.replica.do(ctx, "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = "+port+", MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1", "START SLAVE")
	if err != nil {
		return err
	}
	if p.semi {
		if err := p.do(ctx, "SET GLOBAL rpl_semi_sync_master_enabled = ON"); err != nil {
			return err
		}
	}
	return p.copied(ctx)
}

// copied waits until the replica has everything that the primary has written.
func (p *mariadbPair) copied(ctx context.Context) error {
	db, err := open(p.server.port, "")
	if err != nil {
		return err
	}
	defer db.Close()
	var written string
	if err := db.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&written); err != nil {
		return fmt.Errorf("read position: %w", err)
	}
	return p.replica.reach(ctx, written)
}

// reach waits until a replica has applied what was written up to a position.
func (m *mariadb) reach(ctx context.Context, position string) error {
	db, err := open(m.server.port, "")
	if err != nil {
		return err
	}
	defer db.Close()
	var late int
	if err := db.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, ?)", position, startLimit.Seconds()).Scan(&late); err != nil || late != 0 {
		return fmt.Errorf("wait for replica: %d: %w", late, err)
	}
	return nil
}

// Crash kills the primary, and nobody reaches anything until Recover.
func (p *mariadbPair) Crash() error {
	p.cut()
	return p.mariadb.Crash()
}

// Recover lets the replica take over once it has applied what it has received. The old
// primary stays away: it may have what the new one never got.
func (p *mariadbPair) Recover(ctx context.Context) error {
	received, err := p.received(ctx)
	if err == nil {
		err = p.replica.reach(ctx, received)
	}
	if err == nil {
		err = p.replica.do(ctx, "STOP SLAVE", "RESET SLAVE ALL")
	}
	if err != nil {
		return fmt.Errorf("promote the replica: %w", err)
	}
	p.front.lead(address(p.replica.server.port))
	return nil
}

// received is the position up to which the replica has copied the log.
func (p *mariadbPair) received(ctx context.Context) (position string, err error) {
	db, err := open(p.replica.server.port, "")
	if err != nil {
		return "", err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return "", fmt.Errorf("read replica: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return "", fmt.Errorf("read replica: no status: %w", errors.Join(err, rows.Err()))
	}
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = new(any)
		if name == "Gtid_IO_Pos" {
			values[i] = &position
		}
	}
	return position, rows.Scan(values...)
}

// Describe offers the one address that leads to the primary.
func (p *mariadbPair) Describe(place *shop.Place) {
	c := config(0, database)
	c.Addr = p.front.Address()
	place.MariaDB = c.FormatDSN()
}

// Stop stops both servers.
func (p *mariadbPair) Stop() error {
	p.failover.close()
	for _, m := range []*mariadb{p.mariadb, p.replica} {
		if m != nil {
			m.server.stop()
		}
	}
	return nil
}
