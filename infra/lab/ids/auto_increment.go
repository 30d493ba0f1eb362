package ids

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	_ "github.com/go-sql-driver/mysql" // registers the driver

	"flashsale/infra/lab/shop"
)

// autoIncrement lets the database number the orders: an id is the row's.
func autoIncrement() Generator {
	return Generator{
		Name: "auto-increment", Does: "the number of the inserted row", Needs: shop.MariaDB,
		Open: func(ctx context.Context, p shop.Place) (Issue, func() error, error) {
			db, err := sql.Open("mysql", p.MariaDB)
			if err != nil {
				return nil, nil, fmt.Errorf("open database: %w", err)
			}
			_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS numbered (id BIGINT AUTO_INCREMENT PRIMARY KEY, sale VARCHAR(64) NOT NULL)`)
			if err != nil {
				return nil, nil, fmt.Errorf("create table: %w", err)
			}
			return func(ctx context.Context) ([]string, error) {
				done, err := db.ExecContext(ctx, `INSERT INTO numbered (sale) VALUES (?)`, p.Sale)
				if err != nil {
					return nil, fmt.Errorf("insert: %w", err)
				}
				id, err := done.LastInsertId()
				if err != nil {
					return nil, fmt.Errorf("read the row's number: %w", err)
				}
				return []string{strconv.FormatInt(id, 10)}, nil
			}, db.Close, nil
		},
	}
}
