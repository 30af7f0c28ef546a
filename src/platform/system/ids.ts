import { v7 } from 'uuid'
import { bizId, type Ids } from '../../kernel/index.ts'

/** UUIDv7 (RFC 9562), monotonic within a process. */
export const systemIds: Ids = { next: () => bizId(v7()) }
