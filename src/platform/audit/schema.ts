import type { Generated } from 'kysely'
import { type Json, sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AuditOutcome, Portal } from '../../kernel/index.ts'
import { partitionBy } from '../partitions/index.ts'

interface AuditLogTable {
  bizId: Generated<string>
  at: Timestamp
  portal: Portal
  actorBizId: string | null
  workspaceBizId: string | null
  action: string
  targetBizId: string | null
  outcome: AuditOutcome
  requestId: string
  clientIp: string
  detail: Json
  sequence: Generated<number | null>
  previousHash: Generated<Uint8Array | null>
  hash: Generated<Uint8Array | null>
}

interface AuditChainTable {
  isOnly: Generated<boolean>
  sequence: number
  hash: Uint8Array
}

interface AuditExportTable {
  isOnly: Generated<boolean>
  /** The last entry that left the store. */
  sequence: number
}

/** The last entry before those of the store. Verification starts behind it. */
interface AuditArchiveTable {
  isOnly: Generated<boolean>
  sequence: number
  hash: Uint8Array
}

/** Archived entries behind an entry that is still in the store. */
interface AuditArchiveLinksTable {
  sequence: number
  previousHash: Uint8Array
  hash: Uint8Array
}

declare module '../../database/tables.ts' {
  interface Tables {
    audit_archive: AuditArchiveTable
    audit_archive_links: AuditArchiveLinksTable
    audit_log: AuditLogTable
    audit_chain: AuditChainTable
    audit_export: AuditExportTable
  }
}

/**
 * Entries never change, except that the sealing job sets `sequence` and the hashes once. `outcome` has a domain type,
 * because PostgreSQL caches a domain's check but parses a table's check for each statement.
 */
const log = [
  `CREATE DOMAIN audit_outcome AS text CHECK (VALUE IN ('SUCCESS', 'REFUSED'))`,
  `CREATE TABLE audit_log (
    biz_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    at timestamptz NOT NULL,
    portal text NOT NULL,
    actor_biz_id uuid,
    workspace_biz_id uuid,
    action text NOT NULL,
    target_biz_id text,
    outcome audit_outcome NOT NULL,
    request_id text NOT NULL,
    client_ip text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}',
    sequence bigint,
    previous_hash bytea,
    hash bytea,
    CONSTRAINT audit_log_sealed_whole CHECK (
      (sequence IS NULL) = (hash IS NULL) AND (sequence IS NULL) = (previous_hash IS NULL))
  )`,
  `CREATE UNIQUE INDEX audit_log_sequence ON audit_log (sequence) WHERE sequence IS NOT NULL`,
  `CREATE INDEX audit_log_unsealed ON audit_log (at) WHERE sequence IS NULL`,
  `CREATE INDEX audit_log_at ON audit_log (at)`,
  `CREATE INDEX audit_log_workspace ON audit_log (workspace_biz_id, at)`,
  `CREATE INDEX audit_log_actor ON audit_log (actor_biz_id, at)`,
  `CREATE INDEX audit_log_target ON audit_log (target_biz_id, at) WHERE target_biz_id IS NOT NULL`,
  `CREATE INDEX audit_log_action ON audit_log (action, at)`,
  // An inserted sequence number would block the sealing job.
  `CREATE FUNCTION audit_log_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'UPDATE' THEN
      IF OLD.sequence IS NULL AND NEW.sequence IS NOT NULL
         AND (OLD.biz_id, OLD.at, OLD.portal, OLD.actor_biz_id, OLD.workspace_biz_id, OLD.action, OLD.target_biz_id,
              OLD.outcome, OLD.request_id, OLD.client_ip, OLD.detail)
         IS NOT DISTINCT FROM
             (NEW.biz_id, NEW.at, NEW.portal, NEW.actor_biz_id, NEW.workspace_biz_id, NEW.action, NEW.target_biz_id,
              NEW.outcome, NEW.request_id, NEW.client_ip, NEW.detail)
      THEN
        RETURN NEW;
      END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
  END $$`,
  `CREATE TRIGGER audit_log_guard_insert BEFORE INSERT ON audit_log
    FOR EACH ROW WHEN (NEW.sequence IS NOT NULL) EXECUTE FUNCTION audit_log_guard()`,
  `CREATE TRIGGER audit_log_guard BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_guard()`,
  `CREATE TRIGGER audit_log_guard_truncate BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_guard()`,
]

/** If the sequence number of the head could decrease, entries could be removed from the end unnoticed. */
const chain = [
  `CREATE TABLE audit_chain (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    sequence bigint NOT NULL,
    hash bytea NOT NULL
  )`,
  `INSERT INTO audit_chain (sequence, hash) VALUES (0, decode(repeat('00', 32), 'hex'))`,
  `CREATE FUNCTION audit_chain_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'UPDATE' THEN
      IF NEW.sequence > OLD.sequence THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only: % of its head refused', TG_OP
      USING ERRCODE = 'insufficient_privilege';
  END $$`,
  `CREATE TRIGGER audit_chain_guard BEFORE UPDATE OR DELETE ON audit_chain
    FOR EACH ROW EXECUTE FUNCTION audit_chain_guard()`,
  `CREATE TRIGGER audit_chain_guard_truncate BEFORE TRUNCATE ON audit_chain
    FOR EACH STATEMENT EXECUTE FUNCTION audit_chain_guard()`,
]

/**
 * A unique index covers one partition. Over all of them, ids are random, and the head of the chain only passes entries
 * whose numbers it has not passed before, each number once.
 */
const partitions = [
  `CREATE FUNCTION audit_log_assign_id() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.biz_id := gen_random_uuid();
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER audit_log_assign_id BEFORE INSERT ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_assign_id()`,
  `CREATE OR REPLACE FUNCTION audit_log_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'UPDATE' THEN
      IF OLD.sequence IS NULL AND NEW.sequence > (SELECT sequence FROM audit_chain)
         AND (OLD.biz_id, OLD.at, OLD.portal, OLD.actor_biz_id, OLD.workspace_biz_id, OLD.action, OLD.target_biz_id,
              OLD.outcome, OLD.request_id, OLD.client_ip, OLD.detail)
         IS NOT DISTINCT FROM
             (NEW.biz_id, NEW.at, NEW.portal, NEW.actor_biz_id, NEW.workspace_biz_id, NEW.action, NEW.target_biz_id,
              NEW.outcome, NEW.request_id, NEW.client_ip, NEW.detail)
      THEN
        RETURN NEW;
      END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
  END $$`,
  `CREATE OR REPLACE FUNCTION audit_chain_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    v_sealed record;
  BEGIN
    IF TG_OP = 'UPDATE' THEN
      SELECT count(*) AS rows, count(DISTINCT sequence) AS numbers INTO v_sealed
        FROM audit_log WHERE sequence > OLD.sequence AND sequence <= NEW.sequence;
      IF NEW.sequence > OLD.sequence AND v_sealed.rows = NEW.sequence - OLD.sequence
         AND v_sealed.numbers = v_sealed.rows THEN
        RETURN NEW;
      END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only: % of its head refused', TG_OP
      USING ERRCODE = 'insufficient_privilege';
  END $$`,
  ...partitionBy('audit_log', 'at'),
]

export const migrations = [
  sqlMigration('001-baseline', [...log, ...chain]),
  sqlMigration('002-lists', [
    `CREATE INDEX IF NOT EXISTS audit_log_list ON audit_log (at, biz_id)`,
    `CREATE INDEX IF NOT EXISTS audit_log_refused ON audit_log (at, biz_id) WHERE outcome = 'REFUSED'`,
    `DROP INDEX audit_log_at`,
  ]),
  sqlMigration('003-requests', [`CREATE INDEX IF NOT EXISTS audit_log_request ON audit_log (request_id, at)`]),
  sqlMigration('004-export', [
    `CREATE TABLE audit_export (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      sequence bigint NOT NULL
    )`,
    `INSERT INTO audit_export (sequence) VALUES (0)`,
  ]),
  sqlMigration('005-addresses', [`CREATE INDEX IF NOT EXISTS audit_log_client ON audit_log (client_ip, at)`]),
  sqlMigration('006-partitions', partitions),
  sqlMigration('007-archive', [
    `CREATE TABLE audit_archive (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      sequence bigint NOT NULL,
      hash bytea NOT NULL
    )`,
    `CREATE FUNCTION audit_archive_guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'UPDATE' THEN
        IF NEW.sequence >= OLD.sequence THEN RETURN NEW; END IF;
      END IF;
      RAISE EXCEPTION 'the archive of the audit log only grows: % refused', TG_OP
        USING ERRCODE = 'insufficient_privilege';
    END $$`,
    `CREATE TRIGGER audit_archive_guard BEFORE UPDATE OR DELETE ON audit_archive
      FOR EACH ROW EXECUTE FUNCTION audit_archive_guard()`,
    `CREATE TABLE audit_archive_links (sequence bigint PRIMARY KEY, previous_hash bytea NOT NULL, hash bytea NOT NULL)`,
  ]),
]
