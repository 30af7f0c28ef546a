import type { SchemaOwner } from '../database/index.ts'
import { migrations as apiKeys } from '../domains/api-keys/schema.ts'
import { migrations as exchanges } from '../domains/exchanges/schema.ts'
import { migrations as exports } from '../domains/exports/schema.ts'
import { migrations as files } from '../domains/files/schema.ts'
import { migrations as invitations } from '../domains/invitations/schema.ts'
import { migrations as members } from '../domains/members/schema.ts'
import { migrations as roles } from '../domains/roles/schema.ts'
import { migrations as withdrawalChannels } from '../domains/withdrawal-channels/schema.ts'
import { migrations as workspaces } from '../domains/workspaces/schema.ts'
import { migrations as identity } from '../identity/schema.ts'
import { migrations as ledger } from '../ledger/schema/index.ts'
import { migrations as audit } from '../platform/audit/schema.ts'
import { migrations as blobs } from '../platform/blobs/schema.ts'
import { migrations as jobs } from '../platform/jobs/schema.ts'
import { migrations as mail } from '../platform/mail/schema.ts'

/** All owners of tables. An owner follows those whose tables it references: foreign keys and triggers on `orders`. */
export const schemaOwners: readonly SchemaOwner[] = [
  { owner: 'audit', migrations: audit },
  { owner: 'blobs', migrations: blobs },
  { owner: 'jobs', migrations: jobs },
  { owner: 'mail', migrations: mail },
  { owner: 'identity', migrations: identity },
  { owner: 'workspaces', migrations: workspaces },
  { owner: 'roles', migrations: roles },
  { owner: 'members', migrations: members },
  { owner: 'ledger', migrations: ledger },
  { owner: 'api-keys', migrations: apiKeys },
  { owner: 'invitations', migrations: invitations },
  { owner: 'files', migrations: files },
  { owner: 'exports', migrations: exports },
  { owner: 'exchanges', migrations: exchanges },
  { owner: 'withdrawal-channels', migrations: withdrawalChannels },
]
