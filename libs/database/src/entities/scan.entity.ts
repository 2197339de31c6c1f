import { Entity } from 'typeorm';
import type { SkipReason } from '#files';
import { Flag, Id, Int, Json, Text } from './columns.js';

/** A directory tree that is scanned, and the rules of what in it counts. */
@Entity('roots')
export class RootEntity {
  @Id() id!: number;
  @Text() path!: string;
  /** Base64 of the path's bytes when they are not UTF-8. */
  @Text({ nullable: true }) pathBytes!: string | null;
  /** `pathKey` of the bytes: unique at any length and in any encoding. */
  @Text() pathKey!: string;
  /** JSON as it was written: scans under the same text look for the same. */
  @Text({ default: '{}' }) rules!: string;
  @Int() createdAt!: number;
}

export type ScanMode = 'all' | 'files' | 'folders';
export type ScanOutcome = 'running' | 'completed' | 'interrupted' | 'refused' | 'failed';

/** One run of a producer over a root. Its fence guards every write of the run; its id marks what the run saw. */
@Entity('scans')
export class ScanEntity {
  @Id() id!: number;
  @Int() rootId!: number;
  @Text() workerId!: string;
  @Int() fence!: number;
  @Text({ default: 'all' }) mode!: ScanMode;
  @Text({ default: 'running' }) outcome!: ScanOutcome;
  @Int() startedAt!: number;
  @Int({ nullable: true }) finishedAt!: number | null;
  @Json({ default: '{}' }) counters!: object;
  @Json({ nullable: true }) checkpoint!: unknown;
  @Text({ nullable: true }) error!: string | null;
}

/**
 * A directory seen by a scan. `lastScanId` says who saw it, `listedScanId` who listed it to its end: where they differ,
 * the folder is still to be listed, so the table is the scan's frontier and a resumed scan goes on from it.
 */
@Entity('folders')
export class FolderEntity {
  @Id() id!: number;
  @Int() rootId!: number;
  @Int({ nullable: true }) parentId!: number | null;
  @Text() path!: string;
  @Text({ nullable: true }) pathBytes!: string | null;
  @Text() pathKey!: string;
  @Int() depth!: number;
  /** `device:inode`, to recognise loops and our own folders. */
  @Text({ nullable: true }) inode!: string | null;
  @Int() firstScannedAt!: number;
  @Int() lastScannedAt!: number;
  @Int() lastScanId!: number;
  @Int({ default: 0 }) listedScanId!: number;
  @Flag() removed!: boolean;
  @Text({ nullable: true }) errorStatus!: string | null;
  /** Of the last listing, while every row of the folder is in it; null when something is missing or unfinished. */
  @Text({ nullable: true }) listingDigest!: string | null;
}

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
