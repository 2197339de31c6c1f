import { Entity } from 'typeorm';
import { Flag, Id, Int, Text } from './columns.js';

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
