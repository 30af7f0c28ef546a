import { useQuery } from '@tanstack/react-query'
import { downloadRechargeProof } from 'portal-client'
import { useEffect, useState } from 'react'
import { client } from '../../../kit/client.ts'
import { formatCount } from '../../../kit/format.ts'
import { permissionName, t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { usePermission } from '../../../kit/session.tsx'
import { QueryView } from '../../../kit/states.tsx'

/** The proof of payment. Each download is in the audit log, so it is read once. */
export function Proof({ rechargeId }: { rechargeId: string }) {
  const mayRead = usePermission('recharge:approve')
  const query = useQuery({
    queryKey: ['proof', rechargeId],
    queryFn: () => readProof(rechargeId),
    enabled: mayRead,
    staleTime: 'static',
  })
  return (
    <Section title={t('decisions.proof')}>
      {mayRead ? (
        <QueryView query={query}>{(proof) => <ProofView proof={proof} />}</QueryView>
      ) : (
        <p className="hint">{t('records.needsPermission', { permission: permissionName('recharge:approve') })}</p>
      )}
    </Section>
  )
}

interface ProofFile {
  name: string
  content: Blob
}

function ProofView({ proof: { name, content } }: { proof: ProofFile }) {
  const url = useObjectUrl(content)
  const [isBroken, setBroken] = useState(false)
  const isImage = content.type.startsWith('image/') && !isBroken
  // A frame with any other type, such as HTML, could act as this page. Without a viewer, browsers download the file.
  const isDocument = content.type === 'application/pdf' && navigator.pdfViewerEnabled
  return (
    <div className="queues-column queues-proof">
      <p>
        {name} <span className="hint">{sizeOf(content.size)}</span>
      </p>
      {isImage && url !== null && <img src={url} alt={t('decisions.proof')} onError={() => setBroken(true)} />}
      {isDocument && url !== null && <iframe src={`${url}#view=FitH&navpanes=0`} title={t('decisions.proof')} />}
      {!isImage && !isDocument && <p className="hint">{t('decisions.proofNotShown')}</p>}
      {url !== null && (
        <div>
          <a className="button" href={url} download={name}>
            {t('decisions.downloadProof')}
          </a>
        </div>
      )}
    </div>
  )
}

function useObjectUrl(content: Blob): string | null {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    const created = URL.createObjectURL(content)
    setUrl(created)
    return () => URL.revokeObjectURL(created)
  }, [content])
  return url
}

async function readProof(rechargeId: string): Promise<ProofFile> {
  const response = await client.call(downloadRechargeProof, { params: { recharge_id: rechargeId } })
  return { name: fileNameOf(response.headers.get('content-disposition') ?? ''), content: await response.blob() }
}

/** RFC 6266: `filename*` is the whole name, `filename` is for old clients. */
function fileNameOf(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1]
  if (encoded) return decodeURIComponent(encoded)
  return /filename="([^"]*)"/.exec(disposition)?.[1] ?? t('decisions.proof')
}

function sizeOf(bytes: number): string {
  return bytes < 1_024 ? `${formatCount(bytes)} B` : `${formatCount(Math.round(bytes / 1_024))} kB`
}
