import { Entity } from 'typeorm';
import type { SkipReason } from '#files';
import { Flag, Id, Int, Text } from './columns.js';

export type FileStatus = 'pending' | 'processing' | 'batched' | 'analyzed' | 'skipped' | 'failed';

/** `errorStatus` of a file that waits for its folder to come back. */
export const FOLDER_AWAY = 'FOLDER_AWAY';

/**
 * A file and where it stands. `revision` grows when its content changed, and with it the file becomes pending again.
 * Nanosecond times and inodes are text: they exceed what a JavaScript number holds exactly, and are only compared.
 */
@Entity('files')
export class FileEntity {
  @Id() id!: number;
  @Int() rootId!: number;
  @Int() folderId!: number;
  /** The last component as `nameKey` spells it: unique within the folder in any encoding. */
  @Text() name!: string;
  @Text() path!: string;
  /** Base64 of the path's bytes when they are not UTF-8; `path` then only shows them. */
  @Text({ nullable: true }) pathBytes!: string | null;
  @Int() size!: number;
  @Text() mtimeNs!: string;
  @Text() ctimeNs!: string;
  @Text() inode!: string;
  @Int({ default: 1 }) revision!: number;
  @Text({ default: 'pending' }) status!: FileStatus;
  @Text({ nullable: true }) hashValue!: string | null;
  @Text({ nullable: true }) hashAlgorithm!: string | null;
  @Int({ nullable: true }) tokenCount!: number | null;
  @Text({ nullable: true }) tokenizer!: string | null;
  /** The file that was sent in this one's place, when duplicates are skipped. */
  @Int({ nullable: true }) duplicateOf!: number | null;
  /** The revision that was last put in a batch, and the sha256 of its whole content. */
  @Int({ nullable: true }) sentRevision!: number | null;
  @Text({ nullable: true }) sentHash!: string | null;
  @Text({ nullable: true }) workerId!: string | null;
  @Int({ nullable: true }) claimedUntil!: number | null;
  /** How often this revision was claimed: a file that kills its workers is given up after a few. */
  @Int({ default: 0 }) claims!: number;
  /** When its job was last put in the queue; 0 when never. */
  @Int({ default: 0 }) enqueuedAt!: number;
  /** The job that brings it; null: one of its own, `f-<id>-<revision>`. */
  @Text({ nullable: true }) jobId!: string | null;
  @Text({ nullable: true }) errorStatus!: string | null;
  @Text({ nullable: true }) skipReason!: SkipReason | null;
  @Flag() removed!: boolean;
  @Int() firstScannedAt!: number;
  @Int() lastScannedAt!: number;
  @Int() lastScanId!: number;
}
