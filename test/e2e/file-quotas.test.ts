import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { encodeMultipart, pdf } from '../harness/multipart.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

describe('quotas of files', () => {
  let portico: Portico
  let session: Session
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ files }) => {
        files.quotas.account.files = 1
      },
    })
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  test('files.upload 422 FILE.QUOTA_EXCEEDED, until a file is deleted', async () => {
    const upload = () =>
      portico.call('POST', '/web/v1/consumer/files/upload', {
        token: session.accessToken,
        workspace: developmentIds.workspace,
        ...encodeMultipart([
          { name: 'purpose', content: 'DOCUMENT' },
          { name: 'file', content: pdf(), fileName: 'contract.pdf', type: 'application/pdf' },
        ]),
      })
    const first = await upload()
    expect(first.status, first.text).toBe(200)
    const refused = await upload()
    expect([refused.status, refused.body.code]).toEqual([422, 'FILE.QUOTA_EXCEEDED'])
    const path = `/web/v1/consumer/files/${first.body.data.bizId}/delete`
    await portico.call('POST', path, { token: session.accessToken, workspace: developmentIds.workspace })
    expect((await upload()).status).toBe(200)
  })
})
