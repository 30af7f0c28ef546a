import { submitRechargeProof, uploadFile } from 'portal-client'
import { useRef, useState } from 'react'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { notify } from '../../kit/toasts.tsx'
import { useWorkspace } from '../workspace.tsx'

/** Uploads a file, and submits it as the proof of a recharge. */
export function ProofForm({ rechargeId }: { rechargeId: string }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [share, setShare] = useState<number | null>(null)
  // Another attempt submits the same file without another upload.
  const uploaded = useRef<{ file: File; bizId: string } | null>(null)

  const upload = async (file: File): Promise<string> => {
    if (uploaded.current?.file === file) return uploaded.current.bizId
    const body = new FormData()
    body.set('file', file)
    body.set('purpose', 'RECHARGE_PROOF')
    setShare(0)
    const onProgress = ({ loaded, total }: { loaded: number; total: number }): void =>
      setShare(total > 0 ? loaded / total : null)
    try {
      const { bizId } = await client.call(uploadFile, { workspaceId, body, onProgress })
      uploaded.current = { file, bizId }
      return bizId
    } finally {
      setShare(null)
    }
  }
  const submit = async (_: Values, form: HTMLFormElement): Promise<void> => {
    const file = new FormData(form).get('file')
    if (!(file instanceof File)) return
    const body = { fileBizId: await upload(file) }
    await client.call(submitRechargeProof, { workspaceId, params: { recharge_id: rechargeId }, body })
    notify(t('recharges.submitted'))
    await refreshData()
  }
  return (
    <Form submit={t('recharges.submitProof')} onSubmit={submit}>
      <TextField
        label={t('recharges.proof')}
        name="file"
        type="file"
        accept="application/pdf,image/png,image/jpeg,image/webp"
        hint={t('recharges.proofHint')}
        required
      />
      {share !== null && (
        <progress aria-label={t('recharges.uploading')} value={share} className="recharges-progress" />
      )}
    </Form>
  )
}
