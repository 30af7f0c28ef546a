import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { containsEmail, containsText, findEmail, findText } from '../../src/database/index.ts'
import { plansOf } from '../harness/rows-read.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('searches on $name', ({ database }) => {
  beforeAll(async () => {
    await sql`
      INSERT INTO workspaces (biz_id, institution_biz_id, workspace_name, workspace_timezone, workspace_status,
        workspace_kind, created_at, updated_at)
      SELECT gen_random_uuid(), gen_random_uuid(), name, 'UTC', 'ACTIVE', 'LIVE', now(), now()
        FROM (SELECT 'Common Name ' || n || ' & Co_' FROM generate_series(1000, 1999) AS n
              UNION ALL VALUES ('ΚΌΣΜΟΣ 1500'), ('100% Name'), ('Name')) AS made (name)`.execute(database)
    await sql`
      INSERT INTO accounts (biz_id, portal, institution_biz_id, account_status, email, email_canonical, account_name,
        default_language, default_timezone, default_country, created_at, updated_at)
      SELECT gen_random_uuid(), 'CONSUMER', gen_random_uuid(), 'ACTIVE', address, address, '', 'en', 'UTC', 'DE', now(), now()
        FROM (SELECT 'person.' || n || '@example.com' FROM generate_series(1000, 1999) AS n) AS made (address)`.execute(
      database,
    )
    await sql`ANALYZE workspaces, accounts`.execute(database)
  })

  const texts = [
    'name 15',
    'NAME 150',
    'Name',
    '0% n',
    '_',
    'co_',
    '15',
    'σμος 1',
    'ΣΜΟΣ',
    'name 1234 & co',
    'no such name',
  ]
  test.each(texts)('%s: finds the names that contain it', async (text) => {
    const names = database.selectFrom('workspaces').select('workspaceName').orderBy('workspaceName')
    const found = await names
      .where(await findText(database, { table: 'workspaces', column: 'workspaceName', text }))
      .execute()
    expect(found).toEqual(await names.where(containsText('workspaceName', text)).execute())
  })

  test.each(['1500@', 'Person.15', 'example.com', 'son.1999@Example', '%', 'nobody@example.com'])(
    '%s: finds the addresses that contain it',
    async (text) => {
      const addresses = database.selectFrom('accounts').select('email').orderBy('email')
      const found = await addresses
        .where(await findEmail(database, { table: 'accounts', column: 'emailCanonical', text }))
        .execute()
      expect(found).toEqual(await addresses.where(containsEmail('emailCanonical', text)).execute())
    },
  )

  test('the part that few rows have is looked up', async () => {
    const isFound = await findText(database, { table: 'workspaces', column: 'workspaceName', text: 'Common Name 1234' })
    const plan = await plansOf(database, (watched) =>
      watched.selectFrom('workspaces').select('bizId').where(isFound).execute(),
    )
    expect(plan).toContain("~~ '%1234%'")
  })
})
