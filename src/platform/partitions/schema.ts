import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import { functions, type PartitionedTable } from './functions.ts'

interface ArchivedPartitionsTable {
  tableName: string
  partitionName: string
  upperBound: Timestamp
  rowCount: number
  fileName: string
  sha256: string
  archivedAt: Timestamp
  /** Null while the partition still exists. */
  droppedAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    archived_partitions: ArchivedPartitionsTable
  }
}

const archive = [
  `CREATE TABLE archived_partitions (
    table_name text NOT NULL,
    partition_name text NOT NULL,
    upper_bound timestamptz NOT NULL,
    row_count bigint NOT NULL,
    file_name text NOT NULL,
    sha256 text NOT NULL,
    archived_at timestamptz NOT NULL,
    dropped_at timestamptz,
    PRIMARY KEY (table_name, partition_name)
  )`,
  `CREATE FUNCTION partition_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION '% is archived: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
  END $$`,
  `CREATE TRIGGER archived_partitions_append_only BEFORE DELETE OR TRUNCATE ON archived_partitions
    FOR EACH STATEMENT EXECUTE FUNCTION partition_refuse()`,
]

export const migrations = [sqlMigration('001-functions', functions), sqlMigration('002-archive', archive)]

/** Makes a table the first partition of one with the same name, rows, triggers and grants. */
export function partitionBy(table: PartitionedTable, key: string): string[] {
  return [`SELECT partition_table('${table}', '${key}')`, `SELECT partition_empty('${table}', now())`]
}
